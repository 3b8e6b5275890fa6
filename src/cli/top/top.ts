// The loop of `svc top`: asks the server, which sorts and cuts, and shows the answer.
import type { Client } from '../../client/client.ts';
import { asServiceError, ServiceError } from '../../domain/errors.ts';
import { printableJson } from '../../domain/printable.ts';
import { realClock } from '../../host/clock.ts';
import { LIVE_SORTS, type LiveSort, type LiveUsage, type LiveUsageQuery } from '../../schema/usage.ts';
import { print } from '../print.ts';
import { frame, type TopState } from './frame.ts';
import { Screen } from './screen.ts';

export interface TopOptions {
  usage: Pick<Client['usage'], 'live'>;
  query: LiveUsageQuery & { sort: LiveSort };
  intervalMs: number;
  /** How many pictures; undefined: until it is ended. */
  count: number | undefined;
  isJson: boolean;
  view: TopState['view'];
  signal: AbortSignal;
}

const CTRL_C = '\u0003';
const clock = realClock();

/** On a terminal a picture that changes; otherwise, or as JSON, one text after the other. */
export async function top(options: TopOptions): Promise<void> {
  const isScreen =
    process.stdout.isTTY && process.env.TERM !== 'dumb' && !options.isJson && options.count === undefined;
  await (isScreen ? onScreen(options) : inLines(options));
}

async function asked({ usage, signal }: TopOptions, query: LiveUsageQuery): Promise<LiveUsage> {
  try {
    return await usage.live(query, { signal });
  } catch (error) {
    if (asServiceError(error).code !== 'not_found') throw error;
    throw new ServiceError('not_implemented', 'The server does not measure what sandboxes use.', {
      remedy: 'Upgrade the server.',
      cause: error,
    });
  }
}

async function inLines(options: TopOptions): Promise<void> {
  const { query, intervalMs, count = Number.POSITIVE_INFINITY, isJson, view, signal } = options;
  const size = {
    columns: process.stdout.columns ?? Number.POSITIVE_INFINITY,
    rows: Number.POSITIVE_INFINITY,
  };
  for (let at = 0; at < count && !signal.aborted; at++) {
    if (at > 0) await clock.sleep(intervalMs, signal).catch(() => undefined);
    if (signal.aborted) return;
    const usage = await asked(options, query);
    const state: TopState = { view, sort: query.sort, isPaused: false };
    print(isJson ? printableJson(usage) : frame(usage, state, size).join('\n'));
  }
}

/** A request that fails leaves the picture as it is, with a line that says so. */
async function onScreen(options: TopOptions): Promise<void> {
  const screen = new Screen();
  const state: TopState = { view: options.view, sort: options.query.sort, isPaused: false };
  let [usage, wake]: [LiveUsage | undefined, AbortController] = [undefined, new AbortController()];
  let isOver = false;
  const draw = () => usage && screen.draw(frame(usage, state, screen.size));
  const onKey = (key: string) => {
    if (key === 'q' || key === CTRL_C) isOver = true;
    if (key === 's')
      state.sort = LIVE_SORTS[(LIVE_SORTS.indexOf(state.sort as LiveSort) + 1) % LIVE_SORTS.length] ?? 'cpu';
    if (key === 'o') state.view = state.view === 'owners' ? 'sandboxes' : 'owners';
    if (key === 'p') state.isPaused = !state.isPaused;
    draw();
    wake.abort();
  };
  usage = await asked(options, options.query);
  screen.open(onKey, draw);
  try {
    draw();
    while (!isOver && !options.signal.aborted) {
      wake = new AbortController();
      const signal = AbortSignal.any([wake.signal, options.signal]);
      await clock.sleep(options.intervalMs, signal).catch(() => undefined);
      if (isOver || options.signal.aborted) return;
      if (!state.isPaused) {
        const query = { ...options.query, sort: state.sort as LiveSort };
        usage = await asked(options, query).then(
          (answer) => {
            state.failure = undefined;
            return answer;
          },
          (error: unknown) => {
            state.failure = asServiceError(error).message;
            return usage;
          },
        );
      }
      draw();
    }
  } finally {
    screen.close();
  }
}
