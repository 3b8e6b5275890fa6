// `svc top` on a terminal: keys, requests and events change one state, which is drawn after each change.
import type { Client } from '../../client/client.ts';
import { asServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import type { Event } from '../../schema/event.ts';
import type { LiveUsage, LiveUsageQuery } from '../../schema/usage.ts';
import type { LiveSort } from '../../schema/usage-sorts.ts';
import { shellIn } from '../shell.ts';
import { frame, shownSandboxes, type TopContent } from './frame.ts';
import { Screen } from './screen.ts';
import { type Action, EXTENSION, firstState, pressed, type View } from './state.ts';

/** Rows beyond the screen, for the cursor. */
const BEYOND = 50;
const MOST_ROWS = 1000;
const MOST_EVENTS = 200;
const LOG_LINES = 1;

export interface TopOptions {
  client: Client;
  query: LiveUsageQuery & { sort: LiveSort };
  intervalMs: number;
  /** How many pictures; undefined: until it is ended. */
  count: number | undefined;
  isJson: boolean;
  view: View;
  signal: AbortSignal;
}

export interface LiveOptions extends TopOptions {
  clock: Pick<Clock, 'sleep'>;
  ask(options: TopOptions, query: LiveUsageQuery): Promise<LiveUsage>;
}

/** Resolves when the user quits. Throws if the first request fails; a later one that fails leaves the picture, and says so. */
export async function onScreen(options: LiveOptions): Promise<void> {
  const usage = await options.ask(options, options.query);
  await new Live(options, usage).run();
}

class Live {
  readonly #options: LiveOptions;
  readonly #state;
  readonly #content: TopContent & { events: Event[] };
  readonly #screen: Screen;
  readonly #over = new AbortController();
  #wake = new AbortController();
  /** Resolves when an action that has the terminal to itself is done. */
  #lent: Promise<void> = Promise.resolve();

  constructor(options: LiveOptions, usage: LiveUsage) {
    this.#options = options;
    this.#state = firstState({ view: options.view, sort: options.query.sort });
    this.#content = { usage, events: [] };
    this.#screen = new Screen(
      (key) => this.#press(key),
      () => this.#draw(),
    );
  }

  async run(): Promise<void> {
    const { clock, intervalMs } = this.#options;
    const quit = () => this.#over.abort();
    this.#options.signal.addEventListener('abort', quit, { once: true });
    this.#screen.open();
    const events = this.#follow();
    try {
      while (!this.#over.signal.aborted) {
        this.#draw();
        this.#wake = new AbortController();
        const signal = AbortSignal.any([this.#wake.signal, this.#over.signal]);
        await clock.sleep(intervalMs, signal).catch(() => undefined);
        await this.#lent;
        if (!this.#state.isPaused && !this.#over.signal.aborted) await this.#load();
      }
    } finally {
      this.#screen.close();
      await events;
    }
  }

  #draw(): void {
    this.#screen.draw(frame(this.#content, this.#state, this.#screen.size));
  }

  #press(key: string): void {
    const ids = shownSandboxes(this.#content.usage, this.#state).map(({ sandbox_id }) => sandbox_id);
    const action = pressed(this.#state, key, ids);
    this.#draw();
    if (!action) return;
    if ('id' in action) {
      if (action.kind === 'shell') this.#lent = this.#shell(action.id);
      else void this.#act(action);
    } else if (action.kind === 'quit') this.#over.abort();
    else if (action.kind === 'load') this.#wake.abort();
    else this.#suspend();
  }

  async #load(): Promise<void> {
    const { client, query, ask } = this.#options;
    const { sort, filter, view, marked } = this.#state;
    const limit = Math.min(MOST_ROWS, Math.max(query.limit ?? 0, this.#screen.size.rows + BEYOND));
    const signal = this.#over.signal;
    try {
      const usage = await ask(this.#options, { ...query, sort, limit, ...(filter !== '' && { q: filter }) });
      this.#content.usage = usage;
      if (view === 'workers') this.#content.workers = await client.workers.list({ signal });
      if (view === 'sandbox' && marked !== undefined)
        this.#content.detail = await client.usage.sandbox(marked, {}, { signal });
    } catch (error) {
      if (!signal.aborted) this.#state.notice = `${asServiceError(error).message} Retrying.`;
    }
  }

  /** The newest events. Without them the rest still works. */
  async #follow(): Promise<void> {
    try {
      for await (const event of this.#options.client.events({}, { signal: this.#over.signal })) {
        this.#content.events.push(event);
        if (this.#content.events.length > MOST_EVENTS) this.#content.events.shift();
      }
    } catch (error) {
      if (!this.#over.signal.aborted) this.#state.notice = `No events: ${asServiceError(error).message}`;
    }
  }

  async #act(action: Extract<Action, { id: string }>): Promise<void> {
    const { client } = this.#options;
    const { id } = action;
    const signal = this.#over.signal;
    try {
      if (action.kind === 'end') {
        await client.destroy(id, { signal });
        this.#state.notice = `${id} has ended.`;
      } else if (action.kind === 'extend') {
        const { expires_at } = await client.extend(id, EXTENSION, { signal });
        this.#state.notice = `${id} ends at ${expires_at}.`;
      } else {
        const [last = 'nothing'] = await client.logs(id, LOG_LINES, { signal });
        this.#state.notice = `${id} wrote last: ${last}`;
      }
    } catch (error) {
      this.#state.notice = asServiceError(error).message;
    }
    this.#wake.abort();
  }

  async #shell(id: string): Promise<void> {
    this.#screen.close();
    try {
      await shellIn(this.#options.client, id, { words: [] });
    } catch (error) {
      this.#state.notice = asServiceError(error).message;
    }
    this.#screen.open();
    this.#draw();
  }

  /** Ctrl-Z: the terminal is as it was until this process continues. */
  #suspend(): void {
    this.#screen.close();
    process.once('SIGCONT', () => {
      this.#screen.open();
      this.#draw();
    });
    process.kill(process.pid, 'SIGTSTP');
  }
}
