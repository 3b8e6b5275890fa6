// Events as server-sent events. One block of bytes is made for each batch, whoever reads it; a reader that does not take
// it is dropped rather than remembered (docs/design/api.md#events): it resumes by the id of the last event it has.
import type { ServerResponse } from 'node:http';
import type { EventSubscription } from '../control/api/events.ts';
import type { Timer } from '../domain/ports.ts';
import type { EventReader } from '../events/feed.ts';
import type { Event } from '../schema/event.ts';
import { PushAnswer, type PushTools } from './answer.ts';
import { writeShared } from './shared-chunk.ts';

const MOST_BEHIND = 256 * 1024;
const KEEPALIVE_MS = 15_000;
/** How long one that reads what is stored may take nothing. */
const STALLED_MS = 60_000;
/** What a browser waits before it connects again. */
const RETRY_MS = 2000;

const HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  'X-Accel-Buffering': 'no',
};

/** A comment: readers skip it. */
const COMMENT = ':\n\n';

export function eventStream(subscription: EventSubscription): PushAnswer {
  return new PushAnswer({
    headers: HEADERS,
    sign: COMMENT,
    begin: (response, deps) => new EventStream(response, subscription, deps).begin(),
    farewell: (message) => `: ${message}\n\n`,
  });
}

class EventStream implements EventReader {
  readonly #response: ServerResponse;
  readonly #subscription: EventSubscription;
  readonly #deps: PushTools;
  #timer: Timer | undefined;
  #live = false;

  constructor(response: ServerResponse, subscription: EventSubscription, deps: PushTools) {
    this.#response = response;
    this.#subscription = subscription;
    this.#deps = deps;
  }

  begin(): void {
    if (this.#response.destroyed || this.#response.closed) this.#end();
    else this.#open();
  }

  #open(): void {
    const { after, gap } = this.#subscription;
    this.#response.once('close', () => this.#end());
    // The id makes a reader that is cut off before its first event resume here.
    this.#response.write(`retry: ${RETRY_MS}\nid: ${after}\n\n`);
    if (gap) this.#response.write(blockOf([gap]));
    this.#keepAlive();
    void this.#run();
  }

  async catchUp(events: readonly Event[]): Promise<void> {
    if (this.#response.destroyed) return;
    if (events.length > 0 && !this.#response.write(blockOf(events))) await this.#drained();
    // All that is stored may be much to read, also where little of it is wanted.
    await this.#deps.pass();
  }

  take(events: readonly Event[]): void {
    if (this.#response.writableLength > MOST_BEHIND) this.#drop();
    else if (!this.#response.writableEnded) writeShared(this.#response, blockOf(events));
  }

  async #run(): Promise<void> {
    try {
      this.#live = (await this.#subscription.run(this)) === 'live';
      if (!this.#live) this.#response.end();
    } catch (err) {
      this.#deps.logger.error({ err }, 'Reading stored events failed; closing the event stream.');
      this.#response.destroy();
    }
  }

  #keepAlive(): void {
    this.#timer = this.#deps.clock.after(KEEPALIVE_MS, () => {
      // One that takes nothing needs no more of it. The id spares a reader of few kinds the rest when it resumes.
      const place = this.#live ? `id: ${this.#subscription.position()}\n` : '';
      if (this.#response.writableLength === 0) this.#response.write(`: keep-alive\n${place}\n`);
      this.#keepAlive();
    });
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#deps.clock.after(STALLED_MS, () => this.#drop());
      const done = () => {
        timer.cancel();
        this.#response.off('drain', done).off('close', done);
        resolve();
      };
      this.#response.once('drain', done).once('close', done);
    });
  }

  #drop(): void {
    this.#deps.logger.info(
      { behind: this.#response.writableLength },
      'Event reader is too slow; closing its connection.',
    );
    this.#response.destroy();
  }

  #end(): void {
    this.#timer?.cancel();
    this.#subscription.end();
  }
}

const blocks = new WeakMap<readonly Event[], Buffer>();

function blockOf(events: readonly Event[]): Buffer {
  const known = blocks.get(events);
  if (known) return known;
  const block = Buffer.from(events.map(frame).join(''));
  blocks.set(events, block);
  return block;
}

const frame = (event: Event) => `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
