// The container engine's own places: its disk full, its socket gone and back. What cannot be made is refused as ours and leaves
// nothing in the engine, what runs goes on, and with room or with the socket all is as before.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { countFaults } from '../../proof/faulted.ts';
import type { Sandbox } from '../../src/schema/sandbox.ts';
import type { Health } from '../../src/schema/system.ts';
import { NOTHING, remains } from '../support/checks/auditor.ts';
import { type Engine, IMAGES, startEngine } from '../support/hosts/engine.ts';
import { fill } from '../support/hosts/fill-disk.ts';
import { removeFolder } from '../support/remove.ts';
import { describeWith } from '../support/requires.ts';
import { type Api, api } from '../support/servers/api.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const CONVERGE_MS = 120_000;
const REFUSALS = ['unavailable', 'provider_error', 'resource_limit', 'timeout'];

describeWith(['root', 'docker'], 'the storage and socket of an engine', () => {
  countFaults('storage of the engine');
  let engine: Engine;
  let server: TestServer;
  let client: Api;
  const folder = mkdtempSync(join(tmpdir(), 'svc-eng-'));
  const disk = join(folder, 'root');
  const seen: string[] = [];
  beforeAll(async () => {
    mkdirSync(disk);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=96m', 'svc-test', disk]);
    engine = await startEngine({ folder, args: ['--live-restore'] });
    server = await startServer({
      env: {
        SVC_PROVIDERS_DEFAULT: 'container',
        SVC_PROVIDERS_CONTAINER_ENABLED: 'true',
        SVC_PROVIDERS_CONTAINER_SOCKET: engine.socket,
        SVC_PROVIDERS_CONTAINER_START_TIMEOUT: '15s',
        SVC_PROVIDERS_USERSPACE_ENABLED: 'false',
        SVC_DEFAULTS_IMAGE: IMAGES.busybox,
      },
    });
    client = api(server.url);
  }, 120_000);
  afterAll(async () => {
    await server?.stop();
    await engine?.stop();
    execFileSync('umount', ['-l', disk]);
    removeFolder(folder);
    if (server) removeHome(server.home);
  });

  const tried = async () => {
    const answer = await client.call<Sandbox & { code: string }>('POST', '/sandboxes', { ttl: '1h' });
    if (answer.status === 201) seen.push(answer.body.id);
    return answer;
  };
  const spawned = () =>
    until(
      'a spawn',
      async () => {
        const { status, body } = await tried();
        return status === 201 ? body : undefined;
      },
      CONVERGE_MS,
    );
  const refuses = async () => {
    const { status, body } = await tried();
    expect([status >= 500, REFUSALS.includes(body.code)]).toEqual([true, true]);
    expect(JSON.stringify(body)).not.toMatch(/ENOENT|no space|overlay|svc-eng/);
  };
  const healthy = async () => (await client.call<Health>('GET', '/health')).body.status === 'ok';
  /** The rows that live and the containers of the engine are the same. */
  const agree = () =>
    until(
      'rows and engine to agree',
      async () => {
        const rows = (await client.call<Sandbox[]>('GET', '/sandboxes')).body.map(({ id }) => id).sort();
        const made = (await engine.api.containers()).map(({ Labels }) => Labels['svc.id']).sort();
        return JSON.stringify(rows) === JSON.stringify(made);
      },
      CONVERGE_MS,
    );

  it('rejects spawns on a full disk without leftovers, and spawns again with room', async () => {
    const used = await spawned();
    fill(join(disk, 'filler'));
    await refuses();
    expect(await client.sh(used.id, 'echo on')).toMatchObject({ stdout: 'on\n' });
    rmSync(join(disk, 'filler'));
    expect(await client.sh((await spawned()).id, 'echo on')).toMatchObject({ stdout: 'on\n' });
    await agree();
  });

  it('keeps running sandboxes while its socket is removed, restored and replaced', async () => {
    const used = await spawned();
    renameSync(engine.socket, `${engine.socket}.away`);
    await refuses();
    await until('health to say so', async () => !(await healthy()), CONVERGE_MS);
    renameSync(`${engine.socket}.away`, engine.socket);
    await spawned();
    await until('health to be well again', healthy, CONVERGE_MS);
    rmSync(engine.socket);
    await refuses();
    await engine.restart();
    await spawned();
    await until('the first to answer', async () => {
      const answer = await client.call('POST', `/sandboxes/${used.id}/exec`, { command: 'true' });
      return answer.status === 200;
    });
    await agree();
    for (const { id } of (await client.call<Sandbox[]>('GET', '/sandboxes')).body) await client.destroy(id);
    await agree();
    expect(remains(server, seen)).toEqual(NOTHING);
  });
});
