// The units in deploy/, looked at by systemd's own tools.
import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { removeFolder } from '../support/remove.ts';
import { describeWith } from '../support/requires.ts';
import { packageRoot } from '../support/servers/server.ts';

const run = promisify(execFile);
const SOURCE = join(packageRoot, 'deploy/systemd');
const units = readdirSync(SOURCE).filter((name) => /\.(service|timer)$/.test(name));

describeWith(['systemd-analyze'], 'the units of deploy/systemd', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'svc-units-'));
    for (const unit of units) copyFileSync(join(SOURCE, unit), join(folder, unit));
  });
  afterAll(() => removeFolder(folder));

  it.each(units)('%s holds only directives that systemd knows', async (unit) => {
    const { stderr } = await run('systemd-analyze', ['verify', '--man=no', join(folder, unit)]);
    expect(stderr.split('\n').filter((line) => line.includes(unit))).toEqual([]);
  });

  it.each(['svc.service', 'svc-worker.service'])('%s does not hide the modules that guests need', (unit) => {
    expect(readFileSync(join(SOURCE, unit), 'utf8')).not.toMatch(/^ProtectKernelModules=yes/m);
  });

  // Sandboxes are below the unit's own cgroup (cgroups.test.ts): a limit here would be one for all of them, and the server.
  it.each(['svc.service', 'svc-worker.service'])('%s sets no memory limit, and gives the reason', (unit) => {
    const unitText = readFileSync(join(SOURCE, unit), 'utf8');
    expect(unitText).not.toMatch(/^Memory(Max|High|SwapMax)=/m);
    expect(unitText).toMatch(/^# No MemoryMax: .* cgroups below this unit's/m);
  });

  // In tenths, as --threshold takes them; what is left open in the units of server and worker is what sandboxes are made of.
  it.each([
    ['svc.service', 40],
    ['svc-worker.service', 40],
    ['svc-backup.service', 10],
  ])('%s is exposed by at most %i tenths of 10', async (unit, threshold) => {
    const analysis = ['security', '--offline=true', `--threshold=${threshold}`, join(folder, unit)];
    await expect(run('systemd-analyze', analysis)).resolves.toBeDefined();
  });
});
