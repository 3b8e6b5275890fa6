// Folders of the host that are full beneath a server at work: its run folder, where each sandbox has one of its own, and
// /tmp. What needs the room is refused as ours, what does not goes on, and there is nothing to clear away afterwards.
import { execFileSync } from 'node:child_process';
import { chownSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { countFaults } from '../../proof/faulted.ts';
import type { Sandbox } from '../../src/schema/sandbox.ts';
import { agents, NOTHING, remains } from '../support/checks/auditor.ts';
import { fill } from '../support/hosts/fill-disk.ts';
import { describeWith } from '../support/requires.ts';
import { type Api, api } from '../support/servers/api.ts';
import {
  cli,
  makeHome,
  NOBODY,
  packageRoot,
  removeHome,
  startServer,
  type TestServer,
} from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const SETTLE_MS = 60_000;

describeWith(['root', 'unshare'], 'full folders', () => {
  countFaults('folders of the server');
  let server: TestServer;
  let ended: () => void = () => undefined;
  afterEach(async () => {
    await server?.kill();
    ended();
    ended = () => undefined;
    if (server) removeHome(server.home);
  });

  const nothingLeft = async (client: Api, seen: readonly string[]) => {
    for (const { id } of (await client.call<Sandbox[]>('GET', '/sandboxes')).body) await client.destroy(id);
    await until('agents to end', () => agents([server.instance, server.home]).length === 0, SETTLE_MS);
    expect(await server.stop()).toBe(0);
    return remains(server, seen);
  };

  it('the run folder: the server rejects spawns, keeps running sandboxes, and spawns again with room', async () => {
    const home = makeHome(true);
    const run = join(home, 'run');
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k,mode=700', 'svc-test', run]);
    ended = () => execFileSync('umount', ['-l', run]);
    chownSync(run, NOBODY, NOBODY);
    server = await startServer({ home, ordinaryUser: true });
    const client = api(server.url);
    const used = await client.spawn({ ttl: '10m' });
    fill(join(run, 'filler'));
    const refused = await client.call<{ code: string }>('POST', '/sandboxes', { ttl: '10m' });
    expect([500, 503, 507]).toContain(refused.status);
    expect(['provider_error', 'unavailable', 'resource_limit']).toContain(refused.body.code);
    expect(JSON.stringify(refused.body)).not.toMatch(/ENOSPC|svc-test|\/tmp\//);
    expect(await client.sh(used.id, 'echo on')).toMatchObject({ stdout: 'on\n' });
    expect(agents([server.instance, home])).toHaveLength(1);
    rmSync(join(run, 'filler'));
    const next = await until('a spawn', async () => {
      const { status, body } = await client.call<Sandbox>('POST', '/sandboxes', { ttl: '10m' });
      return status === 201 ? body : undefined;
    });
    expect(await nothingLeft(client, [used.id, next.id])).toEqual({
      ...NOTHING,
      // The folder itself.
      mounts: [expect.stringContaining(` ${run} `)],
    });
  });

  it('/tmp: neither a server nor its sandboxes need it', async () => {
    const home = makeHome();
    // A /tmp of its own, in which only the server's home is the host's, and the package where it lies there.
    const script = `set -e; root=$1; shift
      mount --make-rprivate /; mount -t tmpfs -o size=64k none /mnt
      for folder in "$HOME" "$root"; do
        case "$folder" in
          /tmp/*) own="/mnt/\${folder#/tmp/}"; mkdir -p "$own"; mount --bind "$folder" "$own" ;;
        esac
      done
      cat /dev/zero >/mnt/filler 2>/dev/null || true
      mount --move /mnt /tmp; cd "$HOME"
      exec "$@"`;
    const root = packageRoot.replace(/\/$/, '');
    const program = ['--mount', 'sh', '-c', script, 'sh', root, process.execPath, cli, 'serve'];
    server = await startServer({ home, node: '/usr/bin/unshare', program });
    const client = api(server.url);
    const [first, second] = [await client.spawn({ ttl: '10m' }), await client.spawn({ ttl: '10m' })];
    expect(await client.sh(first.id, 'echo on >/tmp/x && cat /tmp/x')).toMatchObject({ stdout: 'on\n' });
    expect(await nothingLeft(client, [first.id, second.id])).toEqual(NOTHING);
  });
});
