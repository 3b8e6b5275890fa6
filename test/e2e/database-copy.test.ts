// `svc db copy` by the command line between two runs of a server: its sandbox, with what is inside, goes on.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { DoctorReport } from '../../src/schema/doctor.ts';
import { createDatabase, PASSWORD, sharedPostgres, urlOf } from '../support/hosts/postgres.ts';
import { describeWith } from '../support/requires.ts';
import { api } from '../support/servers/api.ts';
import { runCli } from '../support/servers/run-cli.ts';
import { makeHome, removeHome, startServer } from '../support/servers/server.ts';
import { databaseUrl } from '../support/servers/server-database.ts';
import { until } from '../support/until.ts';

const env = { SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare', SVC_PROVIDERS_DEFAULT: 'auto' };

describeWith(['postgres', 'root', 'unshare'], 'svc db copy', () => {
  it('moves a server from PostgreSQL to a file and to another PostgreSQL, with its running sandbox', async () => {
    const home = makeHome();
    onTestFinished(() => removeHome(home));
    const postgres = await sharedPostgres();
    const urls = {
      first: await databaseUrl(home),
      second: urlOf(await createDatabase(postgres), postgres.port),
    };
    const files = Object.fromEntries(
      Object.entries(urls).map(([name, url]) => {
        const path = join(home, `${name}-url`);
        writeFileSync(path, url, { mode: 0o600 });
        return [name, `@${path}`];
      }),
    );
    const copy = (...args: string[]) => runCli(['db', 'copy', ...args]);

    const server = await startServer({ database: 'postgres', env, home });
    const { id } = await api(server.url).spawn({ metadata: { kept: 'yes' } });
    await api(server.url).sh(id, 'echo before >/workspace/mark');
    const busy = await copy('--from', files.first!, '--to', join(home, 'svc.db'));
    expect([busy.code, busy.stderr]).toEqual([5, expect.stringContaining('in use by r-')]);
    await server.stop();

    const out = await copy('--from', files.first!, '--to', join(home, 'svc.db'), '--json');
    expect(out.code, out.stderr).toBe(0);
    const back = await copy('--from', join(home, 'svc.db'), '--to', files.second!);
    expect(back.code, back.stderr).toBe(0);
    expect(back.stdout).toContain(`url_file: ${join(home, 'second-url')}`);
    for (const text of [busy, out, back].flatMap(({ stdout, stderr }) => [stdout, stderr]))
      for (const secret of [PASSWORD, encodeURIComponent(PASSWORD)]) expect(text).not.toContain(secret);

    const config = join(home, 'fleet.yaml');
    writeFileSync(
      config,
      `database:\n  url_file: ${join(home, 'second-url')}\n  require_sync_standby: false\n`,
    );
    const only = ['postgres', 'database', 'providers'].flatMap((group) => ['--only', group]);
    // On a loaded machine a host may answer late, which the doctor reports.
    await until('the doctor has no complaint', async () => {
      const { stdout } = await runCli(['doctor', '--json', '--config', config, ...only]);
      const { groups } = JSON.parse(stdout) as DoctorReport;
      const verdicts = new Map(
        groups.flatMap(({ checks }) => checks.map(({ id, verdict }) => [id, verdict])),
      );
      const passing = [
        'postgres.hosts',
        'postgres.schema',
        'postgres.connections',
        'postgres.clock',
        'database.keys',
        'database.shared_templates',
        'providers.default',
      ];
      return (
        verdicts.get('postgres.replicas') === 'skip' &&
        // Also slow.
        ['pass', 'warn'].includes(verdicts.get('postgres.latency') ?? '') &&
        passing.every((id) => verdicts.get(id) === 'pass')
      );
    });

    const again = await startServer({
      database: 'postgres',
      env: { ...env, SVC_DATABASE_URL: urls.second },
      home,
    });
    const client = api(again.url);
    expect((await client.call('GET', `/sandboxes/${id}`)).body).toMatchObject({
      state: 'running',
      metadata: { kept: 'yes' },
    });
    expect((await client.sh(id, 'cat /workspace/mark')).stdout).toBe('before\n');
    await client.destroy(id);
    await again.stop();
  });
});
