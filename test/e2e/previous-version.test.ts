// An older version of the service on the schema of this one, and both at once, as while servers are upgraded one after the
// other. SVC_TEST_PREVIOUS is the folder of the older version, built.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { fakeDeps } from '../support/fakes/ports.ts';
import { quickClock } from '../support/fakes/quick-clock.ts';
import { ownPostgres, urlOf } from '../support/hosts/postgres.ts';
import { api } from '../support/servers/api.ts';
import { cli, removeHome, startServer } from '../support/servers/server.ts';
import { startProcess } from '../support/servers/server-process.ts';
import { until } from '../support/until.ts';

const API_KEY = 'api-key-0123456789abcdef0123456789abcdef';
const ADMIN_KEY = 'admin-key-0123456789abcdef0123456789abcdef';
const previous = process.env.SVC_TEST_PREVIOUS ?? '';
const SUITES = ['store-postgres', 'postgres-replicas'];
/** Of the second run of the contract, behind a network that loses answers, only how spawns are admitted. */
const MOST = '^(?!.*with lost answers store (?!reserve))';
const env = { SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare', SVC_PROVIDERS_DEFAULT: 'auto' };

describe('an older version (SVC_TEST_PREVIOUS names it)', () => {
  it('keeps the contract of its store on the schema of this version', { timeout: 1_000_000 }, async () => {
    const server = await ownPostgres();
    // Databases are copies of it.
    const store = await openPostgresStore({
      ...{ ...fakeDeps(), clock: quickClock(1) },
      ...{ url: urlOf('template1', server.port), program: '0.0.0-test', pool: 4, prepare: true },
      requireSyncStandby: false,
    });
    await store.close();
    writeFileSync(join(server.folder, 'ready'), String(server.port));
    const files = SUITES.map((name) => `test/contract/${name}.test.ts`);
    const args = ['node_modules/vitest/vitest.mjs', 'run', '--project', 'contract', '--reporter=verbose'];
    args.push(...files, '-t', MOST);
    const given = { PATH: process.env.PATH, HOME: process.env.HOME, SVC_TEST_POSTGRES: server.folder };
    const run = spawn(process.execPath, args, { cwd: previous, env: given, stdio: 'inherit' });
    onTestFinished(() => void run.kill());
    expect(await once(run, 'exit')).toEqual([0, null]);
  });

  it('serves sandboxes beside this version while its database is upgraded, and after it', async () => {
    const program = [join(previous, 'bin/svc.js'), 'serve'];
    const old = await startServer({ database: 'postgres', env, program });
    const upgraded: Awaited<ReturnType<typeof startProcess>>[] = [];
    onTestFinished(async () => {
      await Promise.all([old.stop(), ...upgraded.map(({ end }) => end('SIGTERM'))]);
      removeHome(old.home);
    });
    const first = api(old.url);
    const before = await first.spawn();
    const beside = { ...old.env, SVC_SERVER_PORT: '0' };
    upgraded.push(
      await startProcess({ command: [process.execPath, cli, 'serve'], cwd: old.home, env: beside, user: {} }),
    );
    const second = api(upgraded[0]!.url);
    expect((await second.sh(before.id, 'echo new')).stdout).toBe('new\n');
    expect((await first.sh(before.id, 'echo old')).stdout).toBe('old\n');
    const [byOld, byNew] = [await first.spawn(), await second.spawn()];
    expect((await second.sh(byOld.id, 'echo a')).stdout).toBe('a\n');
    expect((await first.sh(byNew.id, 'echo b')).stdout).toBe('b\n');
    await first.destroy(byNew.id);
    await second.destroy(byOld.id);
    await old.stop();
    expect((await second.sh(before.id, 'echo alone')).stdout).toBe('alone\n');
    await second.destroy(before.id);
  });

  it('takes no code for a login, and the login that a code opened here for one of its own', async () => {
    const auth = { SVC_AUTH_ENABLED: 'true', SVC_AUTH_API_KEY: API_KEY, SVC_AUTH_ADMIN_API_KEY: ADMIN_KEY };
    const program = [join(previous, 'bin/svc.js'), 'serve'];
    const old = await startServer({ database: 'postgres', env: { ...env, ...auth }, program });
    const beside = { ...old.env, SVC_SERVER_PORT: '0' };
    const fresh = await startProcess({
      command: [process.execPath, cli, 'serve'],
      cwd: old.home,
      env: beside,
      user: {},
    });
    onTestFinished(async () => {
      await Promise.all([old.stop(), fresh.end('SIGTERM')]);
      removeHome(old.home);
    });
    const byKey = api(fresh.url, { 'x-api-key': ADMIN_KEY });
    const { code } = (await byKey.call<{ code: string }>('POST', '/sessions/codes', {})).body;
    const whoAt = (url: string, key: string) =>
      api(url, { 'x-api-key': key }).call<{ session?: { id: string } }>('GET', '/sessions/current');
    expect((await whoAt(old.url, code)).status).toBe(401);
    // It reads all rows of the table, also those that it does not know.
    const listed = await api(old.url, { 'x-api-key': ADMIN_KEY }).call<object[]>('GET', '/admin/sessions');
    expect(listed.status).toBe(200);
    const exchanged = await api(fresh.url, {}).call<{ token: string; id: string }>(
      'POST',
      '/sessions/exchange',
      { code },
    );
    expect(exchanged.status).toBe(201);
    const { token, id } = exchanged.body;
    await until(
      'the older version knows the login',
      async () => (await whoAt(old.url, token)).status === 200,
    );
    expect((await whoAt(old.url, token)).body.session?.id).toBe(id);
    await api(old.url, { 'x-api-key': token }).call('DELETE', '/sessions/current');
    await until('it has ended here', async () => (await whoAt(fresh.url, token)).status === 401);
  });
});
