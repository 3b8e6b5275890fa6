// Faults in the middle of what clients do in sandboxes on workers: streams, uploads, terminals, previews, setup. A short part of
// `npm run proof -- --only sessions`; SVC_TEST_SEED decides the moments.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { placed, ROUNDS } from '../../proof/sessions/campaign.ts';
import { Ground } from '../../proof/sessions/ground.ts';
import { tryRound } from '../../proof/sessions/round.ts';
import { describeWith } from '../support/requires.ts';

const SEED = Number(process.env.SVC_TEST_SEED ?? 1);

describeWith(['root', 'bwrap', 'python3'], 'work in sandboxes on workers', () => {
  const ground = new Ground();
  beforeAll(() => ground.start());
  afterAll(() => ground.stop());

  it.each(ROUNDS.map((names) => [names.join(', '), names] as const))(
    'is ended in time, whole and once: %s',
    async (_, names) => {
      const outcomes = await tryRound(ground, { faults: placed(names), seed: SEED });
      const none = { late: [], untrue: [], unsettled: [] };
      expect(outcomes).toEqual(outcomes.map((outcome) => ({ ...outcome, ...none })));
    },
  );
});
