// The loop of `svc top`: asks the server, which sorts and cuts, and shows the answer.
import { asServiceError, ServiceError } from '../../domain/errors.ts';
import { printableJson } from '../../domain/printable.ts';
import { realClock } from '../../host/clock.ts';
import type { LiveUsage, LiveUsageQuery } from '../../schema/usage.ts';
import { print } from '../print.ts';
import { frame } from './frame.ts';
import { onScreen, type TopOptions } from './live.ts';
import { firstState } from './state.ts';

const clock = realClock();

/** On a terminal a picture that changes; otherwise, or as JSON, one text after the other. */
export async function top(options: TopOptions): Promise<void> {
  const { isJson, count } = options;
  const isScreen = process.stdout.isTTY && process.env.TERM !== 'dumb' && !isJson && count === undefined;
  await (isScreen ? onScreen({ ...options, clock, ask: asked }) : inLines(options));
}

async function asked({ client, signal }: TopOptions, query: LiveUsageQuery): Promise<LiveUsage> {
  try {
    return await client.usage.live(query, { signal });
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
  const columns = process.stdout.columns ?? Number.POSITIVE_INFINITY;
  const state = firstState({ view, sort: query.sort });
  for (let at = 0; at < count && !signal.aborted; at++) {
    if (at > 0) await clock.sleep(intervalMs, signal).catch(() => undefined);
    if (signal.aborted) return;
    const usage = await asked(options, query);
    const workers = view === 'workers' ? await options.client.workers.list({ signal }) : undefined;
    const size = { columns, rows: Number.POSITIVE_INFINITY };
    print(
      isJson ? printableJson(usage) : frame({ usage, workers, events: [] }, state, size).lines.join('\n'),
    );
  }
}
