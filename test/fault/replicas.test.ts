// Faults in a fleet under load: three servers behind HAProxy, three workers, PostgreSQL under Patroni. A short part of
// `npm run proof -- --only replicas`; SVC_TEST_SEED decides which, and SVC_TEST_REPLICA_FAULTS how many.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findingsOf, ordered } from '../../proof/replicas/campaign.ts';
import { roundsOf } from '../../proof/replicas/faults.ts';
import { Ground } from '../../proof/replicas/ground.ts';
import { Rounds } from '../../proof/replicas/round.ts';
import { describeWith } from '../support/requires.ts';

const SEED = Number(process.env.SVC_TEST_SEED ?? 1);
const FAULTS = Number(process.env.SVC_TEST_REPLICA_FAULTS ?? 4);
const NONE = {
  rows_lost: [],
  runtimes_leaked: [],
  double_spawns: [],
  over_admissions: [],
  events_wrong: [],
  noticed: [],
  unsettled: [],
};

describeWith(['root', 'bwrap', 'postgres', 'patroni', 'haproxy'], 'a fleet under load', () => {
  const ground = new Ground();
  let rounds: Rounds | undefined;
  beforeAll(async () => {
    await ground.start();
    rounds = new Rounds(ground);
    await rounds.start();
  });
  afterAll(async () => {
    await rounds?.stop();
    await ground.stop();
  });

  it.each(roundsOf(ordered(SEED).slice(0, FAULTS)).map((faults) => ({ faults, name: faults.join(' + ') })))(
    'loses, doubles and leaks nothing: $name',
    async ({ faults }) => {
      expect(findingsOf(await (rounds as Rounds).try(faults, SEED))).toEqual(NONE);
    },
  );
});
