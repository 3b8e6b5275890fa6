// What sandboxes use, by the API of a real server: measured by the kernel, written to the ledger, kept through a kill of the server.
// Over PostgreSQL the sandboxes run on a worker, and several servers share the ledger.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { LiveUsage, SandboxUsage, SandboxUsageRow, UsageReport } from '../../src/schema/usage.ts';
import { describeWith } from '../support/requires.ts';
import { type Api, api } from '../support/servers/api.ts';
import { makeHome, removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const MINUTES = 60_000;
const env = {
  SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare',
  SVC_PROVIDERS_DEFAULT: 'auto',
  SVC_USAGE_INTERVAL: '2s',
};
const as = { 'x-user-id': 'ann' };

/** Processor time of a sandbox, as its cgroup says. */
function kernelSeconds(id: string): number {
  // Cgroups of others may end in the middle of the search, which find passes over.
  const search = spawnSync('find', ['/sys/fs/cgroup', '-type', 'd', '-name', `*${id}*`], {
    encoding: 'utf8',
  });
  const folders = search.stdout.split('\n').filter((folder) => folder !== '');
  const texts = (file: string) =>
    folders
      .filter((folder) => existsSync(`${folder}/${file}`))
      .map((folder) => readFileSync(`${folder}/${file}`, 'utf8'));
  const [nanoseconds] = texts('cpuacct.usage');
  if (nanoseconds !== undefined) return Number(nanoseconds) / 1e9;
  return Number(/usage_usec (\d+)/.exec(texts('cpu.stat')[0] ?? '')?.[1] ?? 0) / 1e6;
}

describeWith(['root', 'unshare'], 'what sandboxes use', () => {
  let home: string;
  let server: TestServer;
  let client: Api;
  const start = async () => {
    server = await startServer({ home, env });
    client = api(server.url);
  };
  const get = async <T>(path: string) => {
    const { status, body } = await client.call<T>('GET', path);
    expect(body).toBeDefined();
    expect(status).toBe(200);
    return body;
  };
  const usageOf = (id: string) => get<SandboxUsage>(`/sandboxes/${id}/usage`);
  const month = () => get<UsageReport>('/owners/ann/usage?step=total');
  const rows = () => get<SandboxUsageRow[]>('/owners/ann/usage/sandboxes');
  beforeAll(async () => {
    home = makeHome();
    await start();
  }, 2 * MINUTES);
  afterAll(async () => {
    await server?.stop();
    removeHome(home);
  });

  it('finds the one that burns a processor, and keeps its time through a kill of the server', async () => {
    const spawn = (body = {}) => client.call<{ id: string }>('POST', '/sandboxes', body, as);
    const [calm, busy] = [(await spawn()).body.id, (await spawn()).body.id];
    const burn = { command: 'while :; do :; done', detach: true };
    expect((await client.call('POST', `/sandboxes/${busy}/exec`, burn)).status).toBe(202);
    const first = await until('the busy one to be first', async () => {
      const { sandboxes } = await get<LiveUsage>('/usage/sandboxes?sort=cpu&owner_id=ann');
      return sandboxes[0]?.sandbox_id === busy && (sandboxes[0].cpu_percent ?? 0) > 1
        ? sandboxes[0]
        : undefined;
    });
    expect(first).toMatchObject({ owner_id: 'ann', provider: 'userspace', state: 'running' });
    expect(first.memory_bytes).toBeGreaterThan(0);
    // Each of several servers learns of sandboxes that others started within 10 s.
    await until('the owner to have both', async () => {
      const { owners } = await get<LiveUsage>(`/usage/sandboxes?ids=${calm},${busy}`);
      return owners.some(({ owner_id, sandboxes }) => owner_id === 'ann' && sandboxes === 2);
    });
    const points = await until('points', async () => {
      const shown = await usageOf(busy);
      return shown.points.length > 1 ? shown : undefined;
    });
    expect(points.now.source).toBe('host');
    expect(points.guest?.disks.map(({ path }) => path)).toContain('/workspace');
    expect(points.guest?.memory_bytes).toBeUndefined();
    expect(points.missing).toMatchObject({ network: expect.any(String) });

    await server.kill();
    await start();
    await until(
      'a reading of the new server',
      async () => (await usageOf(busy)).now.cpu_percent !== undefined,
    );
    const counted = kernelSeconds(busy);
    for (const id of [calm, busy]) expect((await client.call('DELETE', `/sandboxes/${id}`)).status).toBe(200);
    const done = await until('the ledger to have both', async () => {
      const all = await rows();
      return all.length === 2 && all.every(({ ended_at, metered_to }) => ended_at === metered_to)
        ? all
        : undefined;
    });
    const [burnt] = done.filter(({ sandbox_id }) => sandbox_id === busy);
    const lived = (Date.parse(burnt!.ended_at ?? '') - Date.parse(burnt!.started_at)) / 1000;
    expect(burnt).toMatchObject({ sandbox_seconds: lived, vcpu_seconds: lived, estimated: false });
    // The kernel counted while no server was there. Between its number and the end it may have used some more.
    expect(counted).toBeGreaterThan(0);
    expect(burnt!.cpu_seconds).toBeGreaterThanOrEqual(counted);
    expect(burnt!.cpu_seconds).toBeLessThanOrEqual(counted * 1.02 + 3);
    const { total } = await month();
    for (const name of ['sandbox_seconds', 'cpu_seconds', 'memory_mib_seconds', 'execs'] as const)
      expect(done.reduce((sum, row) => sum + row[name], 0)).toBeCloseTo(total[name], 6);
  });

  it('writes CSV whose rows add up to the month', async () => {
    const csv = await (await client.raw('/owners/ann/usage/sandboxes?format=csv')).text();
    const [head = '', ...lines] = csv.trimEnd().split('\r\n');
    const at = head.split(',').indexOf('cpu_seconds');
    const sum = lines.reduce((all, line) => all + Number(line.split(',')[at]), 0);
    expect(lines).toHaveLength(2);
    expect(sum).toBeCloseTo((await month()).total.cpu_seconds, 6);
    const days = await (await client.raw('/owners/ann/usage?step=hour&format=csv')).text();
    expect(days.split('\r\n')[0]).toMatch(/^from,sandboxes,sandbox_seconds,/);
    const owners = await get<UsageReport>('/admin/usage');
    expect(owners.rows).toMatchObject([{ owner_id: 'ann', sandboxes: 2 }]);
  });

  it('counts a process that the kernel ended for memory, with an event', async () => {
    const { id } = (await client.call<{ id: string }>('POST', '/sandboxes', { memory_mb: 64 }, as)).body;
    await until('a first reading', async () => (await usageOf(id)).sampled_at !== undefined);
    await client.sh(id, 'tail /dev/zero; true');
    const events = await until('the event', async () => {
      const text = await (await client.raw(`/events?follow=false&type=sandbox.oom&sandbox_id=${id}`)).text();
      return text.includes('sandbox.oom') ? text : undefined;
    });
    expect(events).toMatch(/"kills":\d/);
    await client.destroy(id);
    await until('the ledger to have it', async () => ((await usageOf(id)).totals?.oom_kills ?? 0) > 0);
    const metrics = await (await client.raw('/metrics/prometheus')).text();
    expect(metrics).toMatch(/^svc_host_cpu_seconds_total [1-9]/m);
    expect(metrics).toMatch(/^svc_usage_flush_lag_seconds /m);
  });

  it('has no use of an unknown sandbox, and refuses a time that is none', async () => {
    expect((await client.call('GET', '/sandboxes/sb-zzzzzzzzzzzz/usage')).status).toBe(404);
    expect((await client.call('GET', '/owners/ann/usage?from=2026-02-31')).status).toBe(400);
    expect((await get<UsageReport>('/owners/nobody/usage')).rows).toEqual([]);
  });
});
