// Watching a folder: changes as the kernel reports them inside the sandbox.
import { AgentFault, ShortRead } from './fault.ts';
import type { FileChange, FileWatch } from './io.ts';
import type { Requests } from './requests.ts';
import type { AgentStream } from './stream.ts';
import { WireReader, WireWriter } from './wire.ts';

const ESTABLISHED_MS = 30_000;
const RECORD_MAX = 64 * 1024;
/** Bits of a record. A change that has several becomes several, in this order. */
const OPERATIONS = [
  [1, 'create'],
  [8, 'rename'],
  [16, 'mode'],
  [2, 'write'],
  [4, 'remove'],
] as const;

/** Resolves when the watch is in place. Rejects with `not_found`, or `bad_request` for what is not a folder. */
export async function watchFolder(
  requests: Requests,
  { path, recursive }: { path: string; recursive: boolean },
  signal?: AbortSignal,
): Promise<FileWatch> {
  const args = () => new WireWriter().str(path).u8(recursive ? 1 : 0);
  const stream = requests.open('watch', { args, channels: [0], decode: () => undefined }, signal);
  const lift = stream.within(ESTABLISHED_MS, requests.clock, 'watch');
  requests.keepAlive(stream, 'watch');
  const records = recordsOf(requests, stream);
  const first = await records.next();
  lift();
  if (first.done) await stream.result;
  if (first.value?.operations !== 0) throw requests.fault(new AgentFault('watch without its first record'));
  const closed = stream.result.then(
    () => undefined,
    () => undefined,
  );
  return { changes: changesOf(records, stream), closed };
}

async function* changesOf(
  records: AsyncGenerator<WatchRecord>,
  stream: AgentStream<undefined>,
): AsyncGenerator<FileChange> {
  try {
    for await (const { operations, name } of records)
      for (const [bit, what] of OPERATIONS) if ((operations & bit) !== 0) yield { what, name };
    await stream.result;
  } finally {
    stream.cancel(undefined);
  }
}

interface WatchRecord {
  operations: number;
  name: string;
}

async function* recordsOf(
  requests: Requests,
  stream: AgentStream<undefined>,
): AsyncGenerator<WatchRecord, undefined> {
  let left: Buffer = Buffer.alloc(0);
  for (let piece = await stream.incoming.next(); piece; piece = await stream.incoming.next()) {
    left = left.length > 0 ? Buffer.concat([left, piece.data]) : piece.data;
    for (let record = readOne(left); record; record = readOne(left)) {
      left = left.subarray(record.size);
      yield record;
    }
    if (left.length > RECORD_MAX) throw requests.fault(new AgentFault('endless record'));
  }
  return undefined;
}

function readOne(bytes: Buffer): (WatchRecord & { size: number }) | undefined {
  const reader = new WireReader(bytes);
  try {
    return { operations: reader.u8(), name: reader.str(), size: reader.position };
  } catch (error) {
    if (error instanceof ShortRead) return undefined;
    throw error;
  }
}
