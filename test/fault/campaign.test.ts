// A short piece of the campaign of faults (`npm run proof -- --only points`): one of each action, each at a place of its own.
import { expect, it } from 'vitest';
import { campaign, type Tally } from '../../proof/campaign/campaign.ts';
import { describeWith } from '../support/requires.ts';

const PLACES = ['kill after warm.ready', 'freeze after quotas.put', 'throw after sandboxes.extend'];
const CLEAN: Partial<Tally> = {
  ...{ trials: PLACES.length, survived: PLACES.length, missed: 0 },
  ...{ rows_lost: 0, runtimes_leaked: 0, double_spawns: 0, over_admissions: 0, unsettled: 0 },
};

describeWith(['root', 'unshare'], 'a campaign of faults', () => {
  it('finds no lost, leaked or doubled sandbox and no admission beyond a limit', async () => {
    const lines: string[] = [];
    const told = (line: string) => void lines.push(line);
    const options = {
      setting: 'userspace',
      when: 'after',
      runs: 1,
      minutes: 4,
      seed: 7,
      isKept: false,
    } as const;
    const tally = await campaign({ ...options, filters: PLACES, told });
    expect(tally, lines.join('\n')).toEqual(CLEAN);
  });
});
