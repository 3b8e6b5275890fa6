// `svc sandbox explain`: why a sandbox is as it is, or why it ended, and what can be done.

import type { Client } from '../client/client.ts';
import { ServiceError } from '../domain/errors.ts';
import type { EndReason, Sandbox } from '../schema/sandbox.ts';
import type { SandboxState } from '../schema/sandbox-states.ts';
import { age, facts } from './render.ts';

export interface Explanation {
  id: string;
  /** `ended` when only its end is remembered. */
  state: SandboxState | 'ended';
  end_reason?: EndReason;
  /** In words. */
  why: string;
  /** What to do, most useful first. */
  next: string[];
  provider?: string;
  worker_id?: string;
  created_at?: string;
  expires_at?: string;
  ended_at?: string;
}

const STATES: Record<SandboxState, string> = {
  creating: 'Its provider is starting it; commands and file calls are refused until it runs.',
  running: 'It runs and takes commands.',
  unhealthy:
    'It did not answer when it was last asked. It is asked again, and ended when its runtime is really gone.',
  destroying: 'It is being destroyed; it ends when its provider confirms that nothing is left.',
  destroyed: 'It has ended.',
  error: 'Its spawn failed, and nothing of it is left.',
};

const REASONS: Record<EndReason, string> = {
  destroyed: 'Somebody destroyed it by request.',
  expired: 'Its time to live ended.',
  spawn_failed: 'Its provider could not start it.',
  runtime_lost: 'Its runtime ended by itself, was killed, or was out of memory, without a request to us.',
  worker_lost: 'The worker that ran it stopped renewing its lease.',
  pruned: 'It had expired and was removed by a prune.',
  reconciled: 'After a restart the server found no runtime for its record.',
};

const NEXT: Partial<Record<SandboxState | EndReason, (id: string) => string[]>> = {
  creating: (id) => ['Wait, then look again.', `Cancel it: svc sandbox destroy ${id}`],
  running: (id) => [`Keep it longer: svc sandbox extend ${id} --ttl 1h`],
  unhealthy: (id) => [
    'Look at its provider: svc provider get PROVIDER',
    `Give it up: svc sandbox destroy ${id}`,
  ],
  destroying: (id) => [`Ask again, and learn what is in the way: svc sandbox destroy ${id}`],
  expired: () => ['Spawn with a longer --ttl, or extend in time: svc sandbox extend ID --ttl 1h'],
  spawn_failed: () => [
    'Look at the health of the provider: svc provider list',
    "Look for the sandbox's id in the server's log.",
  ],
  runtime_lost: () => [
    'Spawn with more memory, should it have been too little: svc sandbox create --memory 1024',
    "Look for the sandbox's id in the server's log.",
  ],
  worker_lost: () => ['Look at the worker and its connection to the server.'],
  reconciled: () => ["Look for the sandbox's id in the server's log."],
};

const AGAIN = 'Spawn a new one: svc sandbox create';

/** Throws `not_found` for one that is not remembered. */
export async function explain(client: Pick<Client, 'get'>, id: string): Promise<Explanation> {
  try {
    return explainSandbox(await client.get(id));
  } catch (error) {
    const ended = error instanceof ServiceError && error.code === 'not_found' ? error.details : undefined;
    if (ended?.ended_at === undefined && ended?.end_reason === undefined) throw error;
    return explainEnded(id, ended as { end_reason?: EndReason; ended_at?: string });
  }
}

function explainSandbox(sandbox: Sandbox): Explanation {
  const { id, state, end_reason, provider, worker_id, created_at, expires_at, ended_at } = sandbox;
  const because = end_reason === undefined ? [] : [REASONS[end_reason]];
  const next = NEXT[state]?.(id) ?? [AGAIN];
  return {
    ...{ id, state, provider, worker_id, created_at, expires_at },
    why: [STATES[state], ...because].join(' '),
    next: next.map((step) => step.replace('PROVIDER', provider)),
    ...(end_reason !== undefined && { end_reason }),
    ...(ended_at !== undefined && { ended_at }),
  };
}

function explainEnded(
  id: string,
  { end_reason, ended_at }: { end_reason?: EndReason; ended_at?: string },
): Explanation {
  const why =
    end_reason === undefined ? 'It has ended.' : (REASONS[end_reason] ?? `It ended: ${end_reason}.`);
  const next = (end_reason && NEXT[end_reason]?.(id)) ?? [];
  return {
    ...{ id, state: 'ended', why, next: [...next, AGAIN] },
    ...(end_reason !== undefined && { end_reason }),
    ...(ended_at !== undefined && { ended_at }),
  };
}

/** `now`: ms since 1970, for ages. */
export function explanationText(explanation: Explanation, now: number): string {
  const { created_at, expires_at, ended_at } = explanation;
  const ago = (iso: string) => `${iso} (${age(iso, now).replace(/^(?!in )(.*)$/, '$1 ago')})`;
  return facts([
    ['id', explanation.id],
    ['state', explanation.state],
    ['why', explanation.why],
    ['end reason', explanation.end_reason],
    ['provider', explanation.provider],
    ['worker', explanation.worker_id],
    ['created', created_at && ago(created_at)],
    ['expires', expires_at && ago(expires_at)],
    ['ended', ended_at && ago(ended_at)],
    ['next', explanation.next],
  ]);
}
