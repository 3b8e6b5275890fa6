// The agent of a sandbox ends it at the end of its lifetime, also when this worker no longer runs.
import { AGENT_GRACE_MS } from '../domain/ttl.ts';
import { refOf } from './ending.ts';
import { unaborted, type WorkerParts } from './worker-parts.ts';
import type { WorkerSandbox } from './worker-sandboxes.ts';

/** Lifetimes travel as whole seconds, so they may be a second short, and differ by a second from one renewal to the next. */
const ROUNDING_MS = 1000;

/** The time to give to the agent, in monotonic ms. */
export function agentEnd({ lifeEnds }: WorkerSandbox): number {
  return lifeEnds + ROUNDING_MS;
}

/** Passes a lifetime that changed to the agent. Rejects when the agent does not agree. */
export async function passLifetime({ sessions, clock }: WorkerParts, own: WorkerSandbox): Promise<void> {
  const end = agentEnd(own);
  if (own.agentEnds !== undefined && Math.abs(own.agentEnds - end) <= ROUNDING_MS) return;
  // The session that control planes use: a second one would end it, and with it their commands.
  const { io, release } = await sessions.acquire(refOf(own.record), unaborted());
  try {
    await io.setDeadline?.(Math.max(0, end - clock.monotonic()) + AGENT_GRACE_MS);
    own.agentEnds = end;
  } finally {
    release();
  }
}
