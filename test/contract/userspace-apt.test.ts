// apt-get and dpkg of a real Debian as root of an image: a package with files of other owners, a set-gid program, and scripts that
// add users and change owners. It needs no network: the package comes from a file.
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { realClock } from '../../src/host/clock.ts';
import { realRandom } from '../../src/host/random.ts';
import { realHost } from '../../src/host/real-host.ts';
import { importImages } from '../../src/images/import.ts';
import { imageTar } from '../support/hosts/engine.ts';
import { AGENT } from '../support/hosts/real-agent.ts';
import {
  freshId,
  runInside,
  runtimeSpec,
  soon,
  type UserspaceHome,
  userspaceHome,
} from '../support/hosts/userspace.ts';
import { describeWith } from '../support/requires.ts';

const SCRIPT = `#!/bin/sh
set -e
groupadd --system tools
useradd --system --gid tools --home-dir /var/lib/tool toolkeeper
chown -R toolkeeper:tools /var/lib/tool
install -o toolkeeper -g tools -m 0640 /dev/null /var/lib/tool/made
`;

/** A package for every processor. */
function makePackage(home: string): Buffer {
  const root = join(home, 'package');
  for (const folder of ['DEBIAN', 'usr/bin', 'var/lib/tool'])
    mkdirSync(join(root, folder), { recursive: true });
  const control = [
    'Package: svc-tool',
    'Version: 1',
    'Architecture: all',
    'Maintainer: svc <svc@example.org>',
  ];
  writeFileSync(join(root, 'DEBIAN/control'), `${[...control, 'Description: a tool'].join('\n')}\n`);
  writeFileSync(join(root, 'DEBIAN/postinst'), SCRIPT, { mode: 0o755 });
  writeFileSync(join(root, 'usr/bin/svc-tool'), '#!/bin/sh\necho tool\n');
  chownSync(join(root, 'usr/bin/svc-tool'), 0, 42);
  chmodSync(join(root, 'usr/bin/svc-tool'), 0o2755);
  chownSync(join(root, 'var/lib/tool'), 7, 8);
  const file = join(home, 'svc-tool.deb');
  execFileSync('dpkg-deb', ['-b', '-Znone', root, file], { stdio: 'ignore' });
  return readFileSync(file);
}

describeWith(['root', 'unshare', 'dpkg-deb', 'docker'], 'packages on an image of Debian', () => {
  let place: UserspaceHome;
  let file: string;
  beforeAll(async () => {
    place = userspaceHome();
    file = makePackage(place.home).toString('base64');
    const deps = { agent: AGENT, clock: realClock(), random: realRandom(), host: realHost() };
    const limits = { maxBytes: 2 ** 32, maxEntries: 1_000_000 };
    await importImages(
      { ...deps, root: join(place.home, 'images'), limits },
      { source: imageTar('debian'), name: 'debian:test', signal: AbortSignal.timeout(240_000) },
    );
  }, 300_000);
  afterAll(() => place.remove(), 120_000);

  const inside = async (user: 'root' | 'sandbox', words: string) => {
    const provider = place.provider({ user, runner: 'unshare' });
    const id = freshId();
    await provider.create(runtimeSpec(id, { image: 'debian:test', memory_mb: 256 }), soon());
    const io = await provider.attach({ id, epoch: 1 }, soon());
    const setup = `cd /tmp && echo ${file} | base64 -d > svc-tool.deb && `;
    const run = await runInside(io, ['sh', '-c', `{ ${setup}${words}; } 2>&1`]);
    io.close();
    await provider.destroy({ id, epoch: 1 }, soon());
    await provider.close();
    return run;
  };

  it('are installed by root, with their users, and run', async () => {
    const words = [
      'apt-get install -y ./svc-tool.deb',
      'dpkg -s svc-tool | grep Status',
      'getent passwd toolkeeper',
      'stat -c "%a %U" /usr/bin/svc-tool /var/lib/tool/made',
      'svc-tool',
    ].join(' && ');
    const { stdout, exit_code } = await inside('root', words);
    expect(stdout).toMatch(/Status: install ok installed\ntoolkeeper:.*\n2755 root\n640 root\ntool\n$/);
    expect(exit_code).toBe(0);
  }, 120_000);

  it('are refused to the user sandbox', async () => {
    const { stdout, exit_code } = await inside('sandbox', 'apt-get install -y ./svc-tool.deb');
    expect(stdout).toMatch(/requires superuser privilege/);
    expect(exit_code).not.toBe(0);
  }, 120_000);
});
