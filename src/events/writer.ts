// Buffers the events that no state change waits for (exec, file, failures) and writes them in batches
// (docs/design/reliability.md#storage).
// A kill may lose what waits here, and nothing else.
import type { Clock, Logger } from '../domain/ports.ts';
import type { Event, EventDraft } from '../schema/event.ts';
import { BatchWriter, type Writer } from './batch-writer.ts';

const WAITING_LIMIT = 100_000;
/** Live readers wait as long; a commit without a sync costs a hundredth of it. */
const LINGER_MS = 20;

/** Above 100,000 queued events the oldest are dropped. */
export type EventWriter = Writer<EventDraft>;

export interface EventWriterDeps {
  /** One transaction (`store.events.append`). */
  append(drafts: EventDraft[]): Promise<Event[]>;
  /** What is stored, in order (`bus.publish`); does not throw. */
  deliver(events: Event[]): void;
  clock: Clock;
  logger: Logger;
}

export function eventWriter(deps: EventWriterDeps): EventWriter {
  return new BatchWriter({ ...deps, what: 'events', limit: WAITING_LIMIT, lingerMs: LINGER_MS });
}
