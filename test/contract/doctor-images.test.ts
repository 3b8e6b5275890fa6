// The doctor's sandbox on a small image, on this kernel: what it says of overlays and idmapped mounts, and that nothing is left.
import { mkdirSync, readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { doctorHere } from '../../src/app/doctor.ts';
import { runChecks } from '../../src/cli/check-progress.ts';
import { loadConfig } from '../../src/config/load.ts';
import { planDoctor } from '../../src/ops/doctor/doctor.ts';
import { describeWith } from '../support/requires.ts';
import { temporaryFolder } from '../support/temporary.ts';

describeWith(['root', 'unshare', 'bwrap'], 'a doctor and images', () => {
  async function changesIn(folder: string, runner: string) {
    const env = {
      SVC_DATABASE_PATH: join(folder, 'svc.db'),
      SVC_IMAGES_PATH: join(folder, 'images'),
      SVC_PROVIDERS_USERSPACE_RUNNER: runner,
    };
    const { signal } = new AbortController();
    const deps = {
      ...doctorHere({ file: undefined, production: false, signal }),
      load: () => loadConfig({ env, cwd: folder, home: folder, uid: 0, isTerminal: false }),
    };
    const plan = planDoctor(deps, { only: ['images'], skip: [], probe: false });
    await runChecks(plan.groups, false);
    const { groups } = await plan.finish();
    return groups.flatMap(({ checks }) => checks.map(({ id, verdict, message }) => [id, verdict, message]));
  }

  it('are tried with a sandbox, and nothing is left', async () => {
    const folder = temporaryFolder();
    const left = join(folder, '.svc-doctor-image-killed');
    mkdirSync(left);
    utimesSync(left, 0, 0);
    expect(await changesIn(folder, 'unshare')).toContainEqual([
      'images.changes',
      'pass',
      'Overlays and idmapped mounts work: sandboxes may change private copies of their images.',
    ]);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('are read-only under bubblewrap', async () => {
    const folder = temporaryFolder();
    expect(await changesIn(folder, 'bwrap')).toContainEqual([
      'images.changes',
      'warn',
      'The image is read-only: bubblewrap does not support an overlay.',
    ]);
    expect(readdirSync(folder)).toEqual([]);
  });
});
