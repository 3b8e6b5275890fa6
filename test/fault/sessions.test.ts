// Faults in the middle of what clients do in sandboxes on workers: streams, uploads, terminals, previews, setup. A short part of
// `npm run proof -- --only sessions`; SVC_TEST_SEED decides the moments.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Ground } from '../../proof/sessions/ground.ts';
import { type Round, tryRound } from '../../proof/sessions/round.ts';
import { describeWith } from '../support/requires.ts';

const SEED = Number(process.env.SVC_TEST_SEED ?? 1);
const ROUNDS: [string, Round['faults']][] = [
  ['the server is killed', { w1: 'server killed' }],
  [
    'workers are killed, restarted, and cut off for a moment',
    { w1: 'worker killed', w2: 'worker restarted', w3: 'network cut for a moment' },
  ],
  [
    'workers are frozen, cut off and forgotten',
    { w1: 'worker frozen', w2: 'network cut', w3: 'connections forgotten' },
  ],
];

describeWith(['root', 'bwrap', 'python3'], 'work in sandboxes on workers', () => {
  const ground = new Ground();
  beforeAll(() => ground.start());
  afterAll(() => ground.stop());

  it.each(ROUNDS)('is ended in time, whole and once when %s', async (_name, faults) => {
    const outcomes = await tryRound(ground, { faults, seed: SEED });
    expect(outcomes).toEqual(outcomes.map(({ fault }) => ({ fault, wrong: [] })));
  });
});
