// The table of moves against the sentence of the design (docs/design/api.md#sandboxes).
import { expect, it } from 'vitest';
import {
  ACTIVE_STATES,
  canMove,
  ENDED_STATES,
  hasEnded,
  LIVE_STATES,
} from '../../../src/domain/sandbox-state.ts';
import { SANDBOX_STATES } from '../../../src/schema/sandbox-states.ts';

it('allows only these transitions', () => {
  const moves = SANDBOX_STATES.flatMap((from) =>
    SANDBOX_STATES.filter((to) => canMove(from, to)).map((to) => `${from}→${to}`),
  );
  expect(moves).toEqual([
    'creating→running',
    'creating→destroying',
    'creating→error',
    'running→unhealthy',
    'running→destroying',
    'unhealthy→running',
    'unhealthy→destroying',
    'destroying→destroying',
    'destroying→destroyed',
  ]);
});

it('counts every state as active or ended, and lets live states be destroyed', () => {
  expect([...ACTIVE_STATES, ...ENDED_STATES].sort()).toEqual([...SANDBOX_STATES].sort());
  expect(SANDBOX_STATES.filter(hasEnded)).toEqual([...ENDED_STATES]);
  expect(LIVE_STATES.every((state) => canMove(state, 'destroying'))).toBe(true);
});
