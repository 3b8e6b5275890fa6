// The work of `svc sandbox explain`: the state of a sandbox or the reason of its end, and what to do next.

import type { Client } from '../client/client.ts';
import { ServiceError } from '../domain/errors.ts';
import type { EndReason, Sandbox } from '../schema/sandbox.ts';
import type { SandboxState } from '../schema/sandbox-states.ts';
import { age, facts } from './render.ts';

export interface Explanation {
  id: string;
  /** `ended` when the server only remembers the end. */
  state: SandboxState | 'ended';
  end_reason?: EndReason;
  /** The explanation as text. */
  why: string;
  /** Next steps, most useful first. */
  next: string[];
  provider?: string;
  worker_id?: string;
  created_at?: string;
  expires_at?: string;
  ended_at?: string;
  ended_by?: string;
}

const STATES: Record<SandboxState, string> = {
  creating: 'The provider is starting it. It accepts no commands and file calls yet.',
  running: 'It is running and accepts commands.',
  unhealthy:
    'It did not answer the last health check. The server checks again and ends it only if its runtime has ended.',
  destroying: 'It is being destroyed. It ends when the provider confirms that everything is removed.',
  destroyed: 'It has ended.',
  error: 'Its spawn failed, and everything is cleaned up.',
};

const REASONS: Record<EndReason, string> = {
  destroyed: 'It was destroyed by a request.',
  expired: 'Its TTL expired.',
  spawn_failed: 'The provider could not start it.',
  runtime_lost: 'Its runtime ended without a request: it exited, was killed, or ran out of memory.',
  worker_lost: 'The worker that ran it stopped renewing its lease.',
  pruned: 'It had expired, and a prune removed it.',
  reconciled: 'After a restart the server did not find its runtime.',
};

const NEXT: Partial<Record<SandboxState | EndReason, (id: string) => string[]>> = {
  creating: (id) => ['Wait, then run this again.', `Cancel it: svc sandbox destroy ${id}`],
  running: (id) => [`Keep it longer: svc sandbox extend ${id} --ttl 1h`],
  unhealthy: (id) => [
    'Check its provider: svc provider get PROVIDER',
    `Destroy it: svc sandbox destroy ${id}`,
  ],
  destroying: (id) => [`Repeat the request to see the error: svc sandbox destroy ${id}`],
  expired: () => [
    'Spawn with a longer --ttl, or extend it before it expires: svc sandbox extend ID --ttl 1h',
  ],
  spawn_failed: () => [
    'Check the health of the provider: svc provider list',
    "Search the server's log for the sandbox id.",
  ],
  runtime_lost: () => [
    'If it ran out of memory, spawn with more: svc sandbox create --memory 1024',
    "Search the server's log for the sandbox id.",
  ],
  worker_lost: () => ['Check the worker and its connection to the server.'],
  reconciled: () => ["Search the server's log for the sandbox id."],
};

const AGAIN = 'Spawn a new one: svc sandbox create';

/** Throws `not_found` for a sandbox that the server does not remember. */
export async function explain(client: Pick<Client, 'get'>, id: string): Promise<Explanation> {
  try {
    return explainSandbox(await client.get(id));
  } catch (error) {
    const ended = error instanceof ServiceError && error.code === 'not_found' ? error.details : undefined;
    if (ended?.ended_at === undefined && ended?.end_reason === undefined) throw error;
    return explainEnded(id, ended as Ending);
  }
}

function explainSandbox(sandbox: Sandbox): Explanation {
  const { id, state, end_reason, provider, worker_id, created_at, expires_at, ended_at, ended_by } = sandbox;
  const because = end_reason === undefined ? [] : [REASONS[end_reason]];
  const next = NEXT[state]?.(id) ?? [AGAIN];
  return {
    id,
    state,
    provider,
    worker_id,
    created_at,
    expires_at,
    why: [STATES[state], ...because].join(' '),
    next: next.map((step) => step.replace('PROVIDER', provider)),
    ...(end_reason !== undefined && { end_reason }),
    ...(ended_at !== undefined && { ended_at }),
    ...(ended_by !== undefined && { ended_by }),
  };
}

type Ending = Pick<Explanation, 'end_reason' | 'ended_at' | 'ended_by'>;

function explainEnded(id: string, { end_reason, ended_at, ended_by }: Ending): Explanation {
  const why =
    end_reason === undefined ? 'It has ended.' : (REASONS[end_reason] ?? `It ended: ${end_reason}.`);
  const next = (end_reason && NEXT[end_reason]?.(id)) ?? [];
  return {
    id,
    state: 'ended',
    why,
    next: [...next, AGAIN],
    ...(end_reason !== undefined && { end_reason }),
    ...(ended_at !== undefined && { ended_at }),
    ...(ended_by !== undefined && { ended_by }),
  };
}

/** `now` is ms since 1970, for ages. */
export function explanationText(explanation: Explanation, now: number): string {
  const { created_at, expires_at, ended_at } = explanation;
  const ago = (iso: string) => `${iso} (${age(iso, now).replace(/^(?!in )(.*)$/, '$1 ago')})`;
  return facts([
    ['id', explanation.id],
    ['state', explanation.state],
    ['why', explanation.why],
    ['end reason', explanation.end_reason],
    ['ended by', explanation.ended_by],
    ['provider', explanation.provider],
    ['worker', explanation.worker_id],
    ['created', created_at && ago(created_at)],
    ['expires', expires_at && ago(expires_at)],
    ['ended', ended_at && ago(ended_at)],
    ['next', explanation.next],
  ]);
}
