// Publishes events. Those of a state change are stored with it and delivered after the commit; all others are
// buffered. Nothing about a sandbox is published after its end.
import { asServiceError, type ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import type { EventWriter } from '../../events/batch-writer.ts';
import type { EventBus } from '../../events/bus.ts';
import type { EventDraft, EventType } from '../../schema/event.ts';
import type { SandboxRecord } from '../../store/store.ts';

const ENDED_KEPT = 10_000;
const ENDS: readonly string[] = ['sandbox.destroyed', 'sandbox.error'];

/** What an event is about; a refused spawn has a provider at most. */
export type Subject = Partial<Pick<SandboxRecord, 'id' | 'owner_id' | 'provider'>>;

/** Counts events and refusals for metrics. */
export interface EventCounter {
  /** An event that no state change waits for. */
  noted(type: EventType, subject: Subject, data: Record<string, unknown>): void;
  /** A spawn was refused. */
  refused(error: ServiceError): void;
}

export interface PublisherDeps {
  bus: EventBus;
  writer: EventWriter;
  clock: Clock;
  meter?: EventCounter;
}

export class Publisher {
  readonly #deps: PublisherDeps;
  /** The newest sandboxes that ended: later events about them are dropped. */
  readonly #ended = new Set<string>();
  #ends: ((event: EventDraft) => void) | undefined;
  #ending: ((event: EventDraft) => void) | undefined;

  constructor(deps: PublisherDeps) {
    this.#deps = deps;
  }

  /** Delivers events that the store has committed. */
  committed(events: readonly EventDraft[]): void {
    for (const event of events) if (ENDS.includes(event.type)) this.#ends?.(event);
    this.#deps.bus.publish(events);
  }

  /** Calls `listener` synchronously for each sandbox that ended: a bus may drop slow subscribers, this never does. */
  onEnd(listener: (event: EventDraft) => void): void {
    this.#ends = listener;
  }

  /** The last event of a sandbox is being stored: what the store is asked for now comes after it. */
  ending(event: EventDraft): void {
    this.#ending?.(event);
  }

  /** As `onEnd`, for `ending`: the end may still fail. */
  onEnding(listener: (event: EventDraft) => void): void {
    this.#ending = listener;
  }

  /** Buffers one event. `by` is the actor, here and below: undefined only for rows that an earlier version wrote. */
  note(type: EventType, subject: Subject, data: Record<string, unknown>, by: string | undefined): void {
    const { id, owner_id } = subject;
    this.#deps.meter?.noted(type, subject, data);
    if (id !== undefined && this.#ended.has(id)) return;
    this.#deps.writer.publish({
      type,
      timestamp: this.now(),
      ...(id !== undefined && { sandbox_id: id }),
      ...(owner_id !== undefined && { owner_id }),
      ...(by !== undefined && { actor: by }),
      data,
    });
  }

  /** Buffers the event of a failed operation; its type depends on the failure unless `type` sets it. */
  failure(
    operation: string,
    subject: Subject,
    error: unknown,
    by: string | undefined,
    type?: EventType,
  ): void {
    const known = asServiceError(error);
    const { code, message, status } = known;
    if (operation === 'sandbox.spawn') this.#deps.meter?.refused(known);
    const kind =
      status === 429 ? 'resource.limit' : code === 'provider_error' ? 'provider.failed' : 'operation.failed';
    const { provider } = subject;
    const data = { operation, ...(provider !== undefined && { provider }), code, message };
    this.note(type ?? kind, subject, data, by);
  }

  /** The same as `failure`, but only for failures of the service: an invalid request is not an event. */
  refusal(operation: string, subject: Subject, error: unknown, by: string | undefined): void {
    const { status } = asServiceError(error);
    if (status === 429 || status >= 500) this.failure(operation, subject, error, by);
  }

  /** Resolves when all events so far are stored. */
  async stored(): Promise<void> {
    await this.#deps.writer.flush();
  }

  /** Await this before writing the last event of a sandbox: all earlier events are then stored, and none follows. */
  async end(id: string): Promise<void> {
    this.#ended.add(id);
    if (this.#ended.size > ENDED_KEPT)
      for (const oldest of [...this.#ended].slice(0, ENDED_KEPT / 10)) this.#ended.delete(oldest);
    await this.#deps.writer.flush();
  }

  /** Drafts the event of a state change, to be stored with it. */
  draft(type: EventType, row: SandboxRecord, by: string | undefined): EventDraft {
    const { provider, image, worker_id, expires_at, end_reason, owner_id, memory_mb, vcpus, template } = row;
    const shape =
      type === 'sandbox.created' ? { memory_mb, vcpus, ...(template !== undefined && { template }) } : {};
    return {
      type,
      timestamp: this.now(),
      sandbox_id: row.id,
      ...(owner_id !== undefined && { owner_id }),
      ...(by !== undefined && { actor: by }),
      data: {
        provider,
        image,
        worker_id,
        expires_at,
        ...shape,
        ...(end_reason !== undefined && { end_reason }),
      },
    };
  }

  /** The current time as ISO 8601. */
  now(): string {
    return new Date(this.#deps.clock.now()).toISOString();
  }
}
