// A short part of `npm run soak`: after some dozens of cycles the server holds what it held before, to the descriptor.
import { expect, it } from 'vitest';
import { soak } from '../../bench/soak.ts';
import { describeWith } from '../support/requires.ts';
import { packageRoot } from '../support/servers/server.ts';

describeWith(['root', 'unshare'], '40 cycles of spawn, exec and destroy', () => {
  it('do not grow the server, with faults between them', async () => {
    const report = await soak(packageRoot, { provider: 'userspace', cycles: 40, faults: true });
    expect(report.samples.at(-1)?.cycles).toBe(40);
    expect(report, JSON.stringify(report)).toMatchObject({ pass: true });
  });
});
