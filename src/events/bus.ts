// Notifies listeners of stored events. Delivery is never on the publisher's stack, in order for each listener, and
// bounded: a listener that throws is logged, and one that is too slow is dropped and notified.
import type { Logger } from '../domain/ports.ts';
import type { EventDraft } from '../schema/event.ts';

const BACKLOG_LIMIT = 10_000;

export type EventListener = (event: EventDraft) => void | Promise<void>;

export interface SubscribeOptions {
  /** Events that may wait for this listener; 10,000. */
  limit?: number;
  /** Called once when more had to wait: the listener hears nothing more. */
  onDropped?: () => void;
}

export interface EventBus {
  /** Never throws, never waits. */
  publish(events: readonly EventDraft[]): void;
  /** The next event goes to `listener` when its promise has settled. Gives back what ends it; ending twice is harmless. */
  subscribe(listener: EventListener, options?: SubscribeOptions): () => void;
}

export function eventBus(deps: { logger: Logger }): EventBus {
  const subscribers = new Set<(event: EventDraft) => void>();
  return {
    publish: (events) => {
      for (const event of events) for (const accept of [...subscribers]) accept(event);
    },
    subscribe: (listener, { limit = BACKLOG_LIMIT, onDropped } = {}) => {
      const backlog: EventDraft[] = [];
      const end = () => {
        subscribers.delete(accept);
        backlog.length = 0;
      };
      const dropped = () => {
        end();
        deps.logger.warn({ limit }, 'An event listener did not keep up and was dropped.');
        guarded(deps.logger, async () => onDropped?.());
      };
      const deliver = delivery(backlog, (event) => guarded(deps.logger, async () => listener(event)));
      const accept = (event: EventDraft) => {
        if (backlog.length >= limit) return dropped();
        backlog.push(event);
        deliver();
      };
      subscribers.add(accept);
      return end;
    },
  };
}

/** Starts draining the backlog unless that is in progress. The first `await` leaves the publisher's stack. */
function delivery(backlog: EventDraft[], hand: (event: EventDraft) => Promise<void>): () => void {
  let busy = false;
  const empty = async () => {
    await undefined;
    for (let event = backlog.shift(); event; event = backlog.shift()) await hand(event);
    busy = false;
  };
  return () => {
    if (busy) return;
    busy = true;
    void empty();
  };
}

async function guarded(logger: Logger, call: () => Promise<void>): Promise<void> {
  try {
    await call();
  } catch (error) {
    logger.error({ err: error }, 'An event listener failed; it gets the next event.');
  }
}
