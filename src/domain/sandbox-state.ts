// The life of a sandbox as data: which state may follow which. Stores check the state and epoch of a row, this says
// what may be asked of them. `destroying` may be entered again: destroy is repeatable until the runtime is gone.
import type { SandboxState } from '../schema/sandbox-states.ts';

const NEXT: Record<SandboxState, readonly SandboxState[]> = {
  creating: ['running', 'error', 'destroying'],
  running: ['unhealthy', 'destroying'],
  unhealthy: ['running', 'destroying'],
  destroying: ['destroying', 'destroyed'],
  destroyed: [],
  error: [],
};

/** Nothing runs, nothing is charged, the row stays as history until it is purged. */
export const ENDED_STATES = ['destroyed', 'error'] as const satisfies readonly SandboxState[];

/** Everything that counts against limits. */
export const ACTIVE_STATES = [
  'creating',
  'running',
  'unhealthy',
  'destroying',
] as const satisfies readonly SandboxState[];

/** Active and not yet on the way out: these have a deadline, may be extended and may be destroyed. */
export const LIVE_STATES = ['creating', 'running', 'unhealthy'] as const satisfies readonly SandboxState[];

export function canMove(from: SandboxState, to: SandboxState): boolean {
  return NEXT[from].includes(to);
}

export function hasEnded(state: SandboxState): boolean {
  return NEXT[state].length === 0;
}
