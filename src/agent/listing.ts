// Collects the records of a listing, which are cut anywhere by the frames. Bounded in number and bytes, whatever the
// agent sends.

import { ServiceError } from '../domain/errors.ts';
import { AgentFault, ShortRead } from './fault.ts';
import type { Room } from './io.ts';
import type { Requests } from './requests.ts';
import type { AgentStream } from './stream.ts';
import { WireReader } from './wire.ts';

export interface ListingPlan<T> {
  decode: (reader: WireReader) => T;
  /** More records than this end the session: the agent was asked for at most so many. */
  records: number;
  /** More bytes than this are `payload_too_large`. */
  bytes: number;
  /** Asked before records are kept. */
  room?: Room | undefined;
}

export interface ListingEnd {
  count: number;
  truncated: boolean;
}

/** A record is a few strings of at most a path's length; one that is longer will never end. */
const RECORD_MAX = 64 * 1024;
/** What a record costs beside its bytes: an object, a stamp, the headers of its texts. */
const RECORD_COST = 384;

/** Reads the stream to its end. Rejects as its result does. */
export async function collect<T>(
  requests: Requests,
  stream: AgentStream<ListingEnd>,
  plan: ListingPlan<T>,
): Promise<{ records: T[]; truncated: boolean }> {
  const records: T[] = [];
  let left: Buffer = Buffer.alloc(0);
  let bytes = 0;
  for (let piece = await stream.incoming.next(); piece; piece = await stream.incoming.next()) {
    bytes += piece.data.length;
    if (bytes > plan.bytes) throw stopped(stream, tooLong());
    const before = records.length;
    try {
      left = readAll(left.length > 0 ? Buffer.concat([left, piece.data]) : piece.data, plan, records);
    } catch (error) {
      throw requests.fault(error);
    }
    charge(stream, plan, piece.data.length + (records.length - before) * RECORD_COST);
  }
  const { count, truncated } = await stream.result;
  if (count !== records.length || left.length > 0)
    throw requests.fault(new AgentFault('listing of another length'));
  return { records, truncated };
}

/** Adds every complete record and returns the remaining bytes. */
function readAll<T>(bytes: Buffer, plan: ListingPlan<T>, records: T[]): Buffer {
  const reader = new WireReader(bytes);
  let end = 0;
  while (end < bytes.length) {
    const record = readOne(reader, plan);
    if (record === undefined) break;
    records.push(record);
    end = reader.position;
    if (records.length > plan.records) throw new AgentFault('more records than asked for');
  }
  if (bytes.length - end > RECORD_MAX) throw new AgentFault('endless record');
  return bytes.subarray(end);
}

function readOne<T>(reader: WireReader, plan: ListingPlan<T>): T | undefined {
  try {
    return plan.decode(reader);
  } catch (error) {
    if (error instanceof ShortRead) return undefined;
    throw error;
  }
}

function charge<T>(stream: AgentStream<ListingEnd>, { room }: ListingPlan<T>, bytes: number): void {
  try {
    room?.grow(bytes);
  } catch (error) {
    throw stopped(stream, error);
  }
}

/** Ends the work in the sandbox. */
function stopped(stream: AgentStream<ListingEnd>, error: unknown): unknown {
  stream.cancel(error);
  return error;
}

function tooLong(): ServiceError {
  return new ServiceError('payload_too_large', 'The listing is too long.', {
    remedy: 'List a smaller folder or fewer levels.',
  });
}
