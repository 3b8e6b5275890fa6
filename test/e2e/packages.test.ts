// A package is installed in a Debian container with the default capabilities, all of it through the API: its files with
// owners of their own, a user that its script makes, and its removal.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { inContainers } from '../support/hosts/matrix.ts';
import { type Api, api } from '../support/servers/api.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { temporaryFolder } from '../support/temporary.ts';

const CONTROL = `Package: svc-probe
Version: 1.0
Architecture: all
Maintainer: x <x@example.org>
Description: proves that packages can be installed
`;
const AFTERWARDS = `#!/bin/sh
set -e
useradd --system --no-create-home svc-probe
chown svc-probe: /opt/svc-probe/state
chmod 2750 /opt/svc-probe/state
`;

/** The package's bytes. */
function builtPackage(): Buffer {
  const folder = join(temporaryFolder(), 'svc-probe');
  for (const name of ['DEBIAN', 'opt/svc-probe/state'])
    mkdirSync(join(folder, name), { recursive: true, mode: 0o755 });
  writeFileSync(join(folder, 'DEBIAN/control'), CONTROL);
  writeFileSync(join(folder, 'DEBIAN/postinst'), AFTERWARDS, { mode: 0o755 });
  writeFileSync(join(folder, 'opt/svc-probe/greeting'), 'installed\n');
  execFileSync('dpkg-deb', ['--build', '--root-owner-group', folder, `${folder}.deb`]);
  return readFileSync(`${folder}.deb`);
}

inContainers(['runc', 'runsc'], { needs: ['dpkg-deb'], name: 'a package' }, ({ env }) => {
  let server: TestServer;
  let client: Api;
  let id: string;

  beforeAll(async () => {
    server = await startServer({ env });
    client = api(server.url);
    id = (await client.spawn()).id;
  });
  afterAll(async () => {
    await client.destroy(id);
    expect(await server.stop()).toBe(0);
    removeHome(server.home);
  });

  it('is uploaded, installed, used and removed', async () => {
    const written = await client.raw(`/sandboxes/${id}/files/workspace/p.deb`, {
      method: 'PUT',
      headers: { 'content-type': 'application/octet-stream' },
      body: builtPackage(),
    });
    expect(written.status).toBe(200);
    expect(await client.sh(id, 'dpkg -i p.deb')).toMatchObject({ exit_code: 0 });
    expect(await client.sh(id, 'dpkg -V svc-probe && cat /opt/svc-probe/greeting')).toMatchObject({
      stdout: 'installed\n',
      exit_code: 0,
    });
    const asItsUser = 'su svc-probe -s /bin/sh -c "touch /opt/svc-probe/state/x && id -un"';
    expect(await client.sh(id, asItsUser)).toMatchObject({ stdout: 'svc-probe\n', exit_code: 0 });
    const owner = 'find /opt/svc-probe/state -maxdepth 0 -printf "%u %m\\n"';
    expect((await client.sh(id, owner)).stdout).toBe('svc-probe 2750\n');
    expect(await client.sh(id, 'rm -r /opt/svc-probe/state/x && dpkg -P svc-probe')).toMatchObject({
      exit_code: 0,
    });
    expect((await client.sh(id, 'test ! -e /opt/svc-probe')).exit_code).toBe(0);
  });
});
