// What a call left open when the database did not answer: a sandbox that appears later without an owner of its own ends.
import { expect, it } from 'vitest';
import { OpenOutcomes } from '../../../../src/control/runtime/open-outcomes.ts';
import { ServiceError } from '../../../../src/domain/errors.ts';
import type { SandboxRecord } from '../../../../src/store/store.ts';
import { fakeDeps } from '../../../support/fakes/ports.ts';
import { sandboxRecord } from '../../../support/records.ts';

const LATE_MS = 11_000;

function open(rows: SandboxRecord[]) {
  const deps = fakeDeps();
  const done: string[] = [];
  const outcomes = new OpenOutcomes({
    ...deps,
    sandboxes: {
      get: async (id) => rows.find((row) => row.id === id),
      inStates: async (states) => rows.filter(({ state }) => states.includes(state)),
    },
    spawns: { has: (id) => id === 'sb-busy' },
    replicas: { areSeveral: true },
    replica: 'r-own',
    destroyer: {
      mark: async (id, reason) => {
        done.push(`${reason} ${id}`);
        return undefined;
      },
      finishLater: () => {},
      takeOver: ({ id }) => void done.push(`take over ${id}`),
    },
    rollback: async ({ id }) => void done.push(`roll back ${id}`),
  });
  outcomes.start();
  return { ...deps, outcomes, done };
}

it('ends a sandbox that appears after its spawn was refused for want of an answer', async () => {
  const rows: SandboxRecord[] = [];
  const { clock, outcomes, done } = open(rows);
  outcomes.failed('sb-late', new ServiceError('unavailable', 'No answer.'));
  outcomes.failed('sb-other', new ServiceError('bad_request', 'No.'));
  await clock.advance(LATE_MS);
  expect(done).toEqual([]);
  rows.push(
    sandboxRecord({ id: 'sb-late', state: 'running' }),
    sandboxRecord({ id: 'sb-other', state: 'running' }),
  );
  await clock.advance(5000);
  expect(done).toEqual(['spawn_failed sb-late']);
  await outcomes.stop();
});

it('ends what is unwanted when the process stops, too', async () => {
  const { outcomes, done } = open([sandboxRecord({ id: 'sb-runs', state: 'running' })]);
  outcomes.unwanted('sb-runs');
  await outcomes.stop();
  expect(done).toEqual(['spawn_failed sb-runs']);
});

it('finishes rows that name this process only after two looks, and none that it works on', async () => {
  const row = (id: string, state: SandboxRecord['state'], replica_id: string) =>
    sandboxRecord({ id, state, replica_id });
  const { clock, outcomes, done } = open([
    row('sb-left', 'creating', 'r-own'),
    row('sb-busy', 'creating', 'r-own'),
    row('sb-theirs', 'creating', 'r-other'),
    row('sb-ending', 'destroying', 'r-own'),
  ]);
  await clock.advance(5500);
  expect(done).toEqual([]);
  await clock.advance(5000);
  expect(done).toEqual(['roll back sb-left', 'take over sb-ending']);
  await outcomes.stop();
});
