// The states of a sandbox and their transitions. Stores check the state and epoch of a row; this table says which
// changes may be requested. `destroying` may be entered again because destroy is repeatable until the runtime is
// removed.
import type { SandboxState } from '../schema/sandbox-states.ts';

const NEXT: Record<SandboxState, readonly SandboxState[]> = {
  creating: ['running', 'error', 'destroying'],
  running: ['unhealthy', 'destroying'],
  unhealthy: ['running', 'destroying'],
  destroying: ['destroying', 'destroyed'],
  destroyed: [],
  error: [],
};

/** Nothing runs and nothing is charged. The row stays as history until it is purged. */
export const ENDED_STATES = ['destroyed', 'error'] as const satisfies readonly SandboxState[];

/** States that count against limits. */
export const ACTIVE_STATES = [
  'creating',
  'running',
  'unhealthy',
  'destroying',
] as const satisfies readonly SandboxState[];

/** States with a deadline that can be extended and destroyed. */
export const LIVE_STATES = ['creating', 'running', 'unhealthy'] as const satisfies readonly SandboxState[];

export function canMove(from: SandboxState, to: SandboxState): boolean {
  return NEXT[from].includes(to);
}

export function hasEnded(state: SandboxState): boolean {
  return NEXT[state].length === 0;
}
