// The fuzzers themselves: a case is made by its seed alone, and what they look for is found when it is there.
import { describe, expect, it } from 'vitest';
import { campaign, type Outcome } from '../../../../proof/fuzz/campaign.ts';
import { type Chance, chanceOf } from '../../../../proof/fuzz/chance.ts';
import { openFormats } from '../../../../proof/fuzz/formats.ts';
import { counted, fuzz } from '../../../../proof/fuzz/fuzz.ts';
import { ADMIN_KEY } from '../../../../proof/fuzz/fuzzed-server.ts';
import { misbehaved } from '../../../../proof/fuzz/judge.ts';
import { OPERATIONS, requestOf } from '../../../../proof/fuzz/requests.ts';

const target = (one: (chance: Chance) => Outcome, said?: string) => ({
  width: 3,
  open: async () => ({
    one: async (chance: Chance) => one(chance),
    verdict: async () => said,
    close: async () => {},
  }),
});

describe('a campaign', () => {
  it('counts the outcomes of cases, and records the seed of each failure', async () => {
    const odd = target((chance) => {
      const number = chance.below(1000);
      return { kind: 'seen', fault: number < 100 ? String(number) : undefined };
    });
    const report = await campaign('odd', odd, { seed: 7, runs: 60 });
    expect(report).toMatchObject({ cases: 60, inputs: 60, outcomes: { seen: 60 } });
    expect(report.faults.length).toBeGreaterThan(0);
    for (const { seed, said } of report.faults) expect(String(chanceOf(seed).below(1000))).toBe(said);
  });

  it('counts errors of a case and of the final check as failures', async () => {
    const throwing = target(() => {
      throw new Error('no answer');
    }, 'it has ended');
    const { faults } = await campaign('throwing', throwing, { seed: 1, runs: 2 });
    expect(faults.map(({ said }) => said)).toEqual(['Error: no answer', 'Error: no answer', 'it has ended']);
  });

  it('separates crashes, server errors and wrong answers', async () => {
    const said = ['the server has ended', '500 internal: x', 'a key is in the answer', 'build/fuzz 100 7: x'];
    const each = target((chance) => ({ kind: 'seen', inputs: 3, fault: said[chance.below(4)] }));
    const report = await campaign('each', each, { seed: 1, runs: 20 });
    const { trials, crashes, unexpected_5xx, wrong } = counted(report);
    expect([trials, crashes + unexpected_5xx + wrong]).toEqual([60, 20]);
    expect(Math.min(crashes, unexpected_5xx, wrong)).toBeGreaterThan(0);
  });

  it('finds its targets by name', async () => {
    await expect(fuzz({ only: ['nothing'], seed: 1, runs: 1 })).rejects.toThrow('No such target: nothing');
  });
});

describe('formats', () => {
  it('are read correctly, each within its time', async () => {
    const [report] = await fuzz({ only: ['formats'], seed: 1, runs: 120 });
    expect(report).toMatchObject({ cases: 120, inputs: 120 * 20, faults: [] });
    expect(Object.keys(report!.outcomes).length).toBeGreaterThan(12);
  });

  it('that make no progress are ended and reported', async () => {
    const stuck = { width: 1, open: async () => openFormats('proof/fuzz/stuck.child.ts', 1000) };
    const { outcomes, faults } = await campaign('stuck', stuck, { seed: 1, runs: 4 });
    expect(outcomes).toEqual({ read: 2, stuck: 2 });
    expect(faults.map(({ said }) => said)).toEqual(Array(2).fill(expect.stringContaining('no progress')));
  });
});

describe('requests', () => {
  it('are equal for the same seed, and reach every operation', () => {
    const made = (seed: number) => requestOf(chanceOf(seed), 'sb-known0000000');
    expect(made(99)).toEqual(made(99));
    const reached = new Set(Array.from({ length: 2000 }, (_, seed) => made(seed).operation));
    expect(reached.size).toBe(OPERATIONS.length);
  });
});

describe('an answer is wrong', () => {
  const live = { method: 'GET', url: 'http://h/api/v1/live' };
  const said = (status: number, body: object, id = 'r') => ({
    ...{ status, body: JSON.stringify(body), isCut: false },
    headers: { 'x-request-id': id, 'content-type': 'application/json' },
  });
  const body = { code: 'bad_request', message: 'No.', request_id: 'r' };

  it.each([
    ['as an internal error', said(500, { ...body, code: 'internal' }), '500 internal'],
    ['in another shape', said(400, { error: 'no' }), 'without our error shape'],
    ['with an unknown code', said(400, { ...body, code: 'oops' }), 'unknown code'],
    ['under another id', said(400, body, 'other'), 'request id'],
    ['with a stack', said(400, { ...body, message: 'at x (/a/b.js:1:2)' }), 'foreign text'],
    [
      'with the text of a kernel error',
      said(400, { ...body, message: 'ENOENT: no such file' }),
      'foreign text',
    ],
    ['with a key', said(400, { ...body, message: ADMIN_KEY }), 'a key'],
    ['with an undescribed status', said(409, { ...body, code: 'conflict' }), 'may not answer 409'],
    ['without a described field', said(200, { status: 7 }), 'must be'],
  ])('%s', (_, heard, why) => {
    expect(misbehaved(live, heard)).toContain(why);
  });

  it('and correct otherwise', () => {
    expect(misbehaved(live, said(400, body))).toBeUndefined();
    expect(
      misbehaved({ ...live, url: 'http://h/api/v1/none' }, said(404, { ...body, code: 'not_found' })),
    ).toBeUndefined();
  });
});
