// Two commits side by side: which rows are compared, and what happens to a row that one of them lacks or breaks.
import { describe, expect, it } from 'vitest';
import type { Group } from '../../../bench/group.ts';
import type { Pair } from '../../../bench/row.ts';
import { compareRows, isSlower } from '../../../bench/side-by-side.ts';

const pair = (id: string, ours: () => number): Pair => ({
  id,
  name: id,
  target: 1,
  pairs: 5,
  warmUps: 0,
  ours: async () => ours(),
});

/** A group whose rows take `took(root, id)`. */
const group = (ids: readonly string[], took: (root: string, id: string) => number): Group => ({
  about: 'something',
  ids,
  run: async (root, measure) => {
    for (const id of ids) await measure(pair(id, () => took(root, id)));
  },
});

const asked = { root: '/now', before: '/then' };

describe('comparing two commits', () => {
  it('measures ours of both in turn and judges their ratio', async () => {
    const calls: string[] = [];
    const one = group(['P1', 'P2'], (root, id) => {
      calls.push(root);
      return root === '/now' && id === 'P2' ? 11 : 10;
    });
    const { rows, failures } = await compareRows({ ...asked, groups: [one], groupsBefore: [one] });
    expect(rows.map(({ id, ratio }) => [id, ratio])).toEqual([
      ['P1', 1],
      ['P2', 1.1],
    ]);
    expect(rows.map(isSlower)).toEqual([false, true]);
    expect(failures).toEqual([]);
    expect(calls.slice(0, 4)).toEqual(['/now', '/then', '/now', '/then']);
  });

  it('asks servers of both by the code of this commit', async () => {
    const now = group(['P1'], () => 10);
    const then = group(['P1'], () => 99);
    const { rows } = await compareRows({ ...asked, groups: [now], groupsBefore: [then] });
    expect(rows[0]?.ratio).toBe(1);
  });

  it('takes the code of the other commit for what is measured in this process, from all its groups', async () => {
    const now: Group = { ...group(['P1', 'P2'], () => 10), isInside: true };
    const then = [group(['P1'], () => 5), group(['P2'], () => 20)];
    const { rows } = await compareRows({ ...asked, groups: [now], groupsBefore: then });
    expect(rows.map(({ id, ratio }) => [id, ratio])).toEqual([
      ['P1', 2],
      ['P2', 0.5],
    ]);
  });

  it('leaves out rows that the other commit does not have or measures elsewhere', async () => {
    const now: Group = { ...group(['P1', 'P2', 'P3'], () => 10), isInside: true };
    const then = { ...group(['P3', 'P1'], () => 10), ids: ['P1', 'P3'] };
    const { rows, failures } = await compareRows({ ...asked, groups: [now], groupsBefore: [then] });
    expect(rows.map(({ id }) => id)).toEqual(['P3']);
    expect(failures.map(({ id }) => id)).toEqual(['P1']);
  });

  it('loses only the rows of a group that breaks on one side, and ends the other side', async () => {
    let ended = false;
    const breaking: Group = {
      ...group(['P1', 'P2'], () => 10),
      run: async (root, measure) => {
        await measure(pair('P1', () => 10));
        if (root === '/then') throw new Error('it is gone');
        await measure(pair('P2', () => 10));
        ended = true;
      },
    };
    const whole = group(['P3'], () => 10);
    const groups = [breaking, whole];
    const { rows, failures } = await compareRows({ ...asked, groups, groupsBefore: groups });
    expect(rows.map(({ id }) => id)).toEqual(['P1', 'P3']);
    expect(failures).toEqual([{ id: 'P2', reason: 'broke: Error: it is gone' }]);
    expect(ended).toBe(true);
  });

  it('reports a measurement that fails, on both sides', async () => {
    const broken = group(['P1'], (root) => {
      if (root === '/then') throw new Error('no answer');
      return 10;
    });
    const { rows, failures } = await compareRows({ ...asked, groups: [broken], groupsBefore: [broken] });
    expect(rows).toEqual([]);
    expect(failures).toEqual([{ id: 'P1', reason: 'broke: Error: no answer' }]);
  });

  it('ends when it is stopped, with both worlds closed', async () => {
    const stopped = new AbortController();
    const closed: string[] = [];
    const endless: Group = {
      ...group(['P1', 'P2'], () => 10),
      run: async (root, measure) => {
        try {
          const stops = () => {
            stopped.abort(new Error('stop'));
            return 10;
          };
          await measure(pair('P1', stops));
          await measure(pair('P2', () => 10));
        } finally {
          closed.push(root);
        }
      },
    };
    const groups = [endless, group(['P3'], () => 10)];
    const request = { ...asked, groups, groupsBefore: groups, signal: stopped.signal };
    await expect(compareRows(request)).rejects.toThrow('stop');
    expect(closed.sort()).toEqual(['/now', '/then']);
  });

  it('measures only the rows that are wanted, and names what this machine lacks', async () => {
    const one = group(['P1', 'P2-a'], () => 10);
    const lacking: Group = { ...group(['P2-b'], () => 10), need: () => 'no engine' };
    const { rows, failures } = await compareRows({
      ...asked,
      groups: [one, lacking],
      groupsBefore: [one, lacking],
      only: ['P2'],
    });
    expect(rows.map(({ id }) => id)).toEqual(['P2-a']);
    expect(failures).toEqual([{ id: 'P2-b', reason: 'no engine' }]);
  });
});
