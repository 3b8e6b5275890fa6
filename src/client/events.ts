// Follows events. Resumes a broken stream after the last id received, so that each event arrives once; the server also sends
// ids with the keepalives of a stream whose filter matches nothing.
import { ERROR_TABLE, ServiceError } from '../domain/errors.ts';
import type { Clock } from '../domain/ports.ts';
import type { Event, EventQuery } from '../schema/event.ts';
import { type Connection, send } from './call.ts';
import { bodyLines, untilClosed } from './lines.ts';

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

interface FollowOptions {
  clock: Pick<Clock, 'sleep'>;
  signal?: AbortSignal | undefined;
}

/** A block of the stream: an id, with or without an event. */
interface Block {
  id?: number;
  event?: Event;
}

/** Ends when `follow` is false or the client closes. Throws if the first connection fails, and for failures that are not transient. */
export async function* followEvents(
  connection: Connection,
  query: EventQuery,
  { clock, signal: given }: FollowOptions,
): AsyncGenerator<Event> {
  const signal = untilClosed(connection, given);
  const isClosed = () => connection.closing.aborted && !given?.aborted;
  const position = { since: query.since, connected: false };
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    try {
      for await (const { id, event } of connected(connection, { ...query, ...since(position) }, signal)) {
        position.connected = true;
        pause = FIRST_PAUSE_MS;
        if (id !== undefined) position.since = id;
        if (event) yield event;
      }
      if (query.follow === false) return;
    } catch (error) {
      if (isClosed()) return;
      if (signal.aborted || !position.connected || !isTransient(error)) throw error;
    }
    await clock.sleep(pause, signal).catch((error: unknown) => {
      if (!isClosed()) throw error;
    });
    if (isClosed()) return;
  }
}

const since = ({ since }: { since: number | undefined }) => (since === undefined ? {} : { since });

async function* connected(
  connection: Connection,
  query: EventQuery,
  signal: AbortSignal | undefined,
): AsyncGenerator<Block> {
  const answer = await send(connection, 'events', { query, signal });
  let fields: Record<string, string> = {};
  for await (const line of bodyLines(answer, signal)) {
    const text = line.toString('utf8');
    if (text !== '') {
      const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(text) ?? [];
      fields[name] = value;
      continue;
    }
    yield blockFrom(fields);
    fields = {};
  }
}

function blockFrom({ id, data }: Record<string, string>): Block {
  try {
    return {
      ...(id !== undefined && { id: Number(id) }),
      ...(data !== undefined && { event: JSON.parse(data) as Event }),
    };
  } catch (cause) {
    throw new ServiceError('internal', 'An event of the stream is not JSON.', { cause });
  }
}

function isTransient(error: unknown): boolean {
  return error instanceof ServiceError && ERROR_TABLE[error.code].transient;
}
