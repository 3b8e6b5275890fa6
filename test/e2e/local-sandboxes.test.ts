// `svc sandbox list --local` and `clean --local`: what a server that was killed has left is seen and ended without it, and
// what a running server has is left alone.
import { afterEach, expect, it } from 'vitest';
import type { CleanReport, LocalReport } from '../../src/schema/local-sandbox.ts';
import { NOTHING, remains } from '../support/checks/auditor.ts';
import { eachRuntime } from '../support/hosts/matrix.ts';
import { api } from '../support/servers/api.ts';
import { runCli } from '../support/servers/run-cli.ts';
import { removeHome, startServer, type TestServer, userOf } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const CONFLICT = 5;
const NOT_FOUND = 4;

eachRuntime([], 'leftover sandboxes', ({ env, ordinaryUser }) => {
  let server: TestServer | undefined;
  afterEach(async () => {
    await server?.stop();
    if (server) removeHome(server.home);
  });
  it('are listed and ended without the server, never beside a running one', {
    timeout: 180_000,
  }, async () => {
    server = await startServer({ env, ordinaryUser });
    const client = api(server.url);
    const [kept, due] = [await client.spawn({ ttl: '10m' }), await client.spawn({ ttl: '10m' })];
    const svc = (...args: string[]) =>
      runCli(['sandbox', ...args, '--local'], server?.env, '', userOf({ ordinaryUser }));
    for (const args of [['list'], ['clean', '--yes']]) {
      const refused = await svc(...args);
      expect([refused.code, refused.stderr]).toEqual([
        CONFLICT,
        expect.stringContaining('in use by process'),
      ]);
    }
    await client.call('POST', `/sandboxes/${due.id}/extend`, { ttl: '1s', exact: true });
    await server.kill();
    const list = JSON.parse((await svc('list', '--json')).stdout) as LocalReport;
    expect(list.sandboxes.map(({ id }) => id).sort()).toEqual([kept.id, due.id].sort());
    expect(list.sandboxes.find(({ id }) => id === kept.id)).toMatchObject({
      provider: 'userspace',
      state: 'running',
      recorded: true,
      expires_at: kept.expires_at,
    });
    const seen = await svc('clean');
    expect([seen.code, seen.stdout]).toEqual([0, expect.stringContaining('--yes')]);
    await until('one to be over', async () => {
      const { stdout } = await svc('clean', '--expired', '--json');
      return (JSON.parse(stdout) as CleanReport).sandboxes.length === 1;
    });
    const some = JSON.parse((await svc('clean', '--expired', '--yes', '--json')).stdout) as CleanReport;
    expect([some.ended, some.failed]).toEqual([[due.id], []]);
    const all = JSON.parse((await svc('clean', '--yes', '--json')).stdout) as CleanReport;
    expect([all.ended, all.failed]).toEqual([[kept.id], []]);
    expect(remains(server, [kept.id, due.id])).toEqual(NOTHING);
    server = await startServer({ env, ordinaryUser, home: server.home });
    const reason = async (id: string) =>
      (await api(server?.url ?? '').call<{ details?: { end_reason?: string } }>('GET', `/sandboxes/${id}`))
        .body.details?.end_reason;
    await until('both records to end', async () => (await reason(kept.id)) && (await reason(due.id)));
    expect([await reason(kept.id), await reason(due.id)]).toEqual(['runtime_lost', 'expired']);
  });
});

it('lists nothing without a database', async () => {
  const run = await runCli(['sandbox', 'list', '--local'], { SVC_DATABASE_PATH: '/nonexistent/svc.db' });
  expect(run.code).toBe(NOT_FOUND);
});
