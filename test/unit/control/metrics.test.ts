// Numbers: counted where they happen, the same in JSON and in text, without a word of strangers in their labels.
import { describe, expect, it } from 'vitest';
import { Metrics } from '../../../src/control/metrics.ts';
import { METRICS } from '../../../src/schema/metric.ts';
import { admin, api, forever, owned, type World, world } from '../../support/control.ts';
import { promtool } from '../../support/promtool.ts';
import { itWith } from '../../support/requires.ts';
import { until } from '../../support/until.ts';

const OWNER = 'owner-that-must-not-show';

async function used(config: Parameters<typeof world>[0] = {}): Promise<World> {
  const made = world(config);
  const { id } = await made.control.sandboxes.spawn({}, owned(OWNER), {}, forever);
  await made.control.sandboxes.spawn({ metadata: { purpose: 'hushhush' } }, owned(OWNER), {}, forever);
  await made.control.exec.run(id, { command: 'true' }, owned(OWNER), forever);
  await made.events();
  await until('all is told', () => made.told.length === 6);
  const { request } = made.control.metrics;
  for (const status of ['200', '200', '503'])
    request({ route: 'getSandbox', method: 'GET', status, seconds: 0.25 });
  return made;
}

/** Values of a family's samples by their labels. */
async function samples({ control }: World, name: string): Promise<Record<string, number>> {
  const { text } = await control.metrics.text();
  const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.lastIndexOf(' ');
      return [line.slice(name.length, at), Number(line.slice(at + 1))];
    }),
  );
}

describe('what happens is counted', () => {
  it('spawns, commands, events, requests', async () => {
    const made = await used();
    expect(await samples(made, 'svc_admission_total')).toEqual({ '{decision="allowed",reason="none"}': 2 });
    const spawns = await samples(made, 'svc_spawn_duration_seconds_count');
    expect(spawns).toEqual({
      '{provider="userspace",phase="reserve"}': 2,
      '{provider="userspace",phase="create"}': 2,
      '{provider="userspace",phase="total"}': 2,
    });
    expect(await samples(made, 'svc_exec_duration_seconds_count')).toEqual({ '{provider="userspace"}': 1 });
    expect(await samples(made, 'svc_events_total')).toEqual({
      '{type="sandbox.created"}': 2,
      '{type="sandbox.running"}': 2,
      '{type="exec.started"}': 1,
      '{type="exec.completed"}': 1,
    });
    expect(await samples(made, 'svc_sandboxes')).toEqual({ '{state="running",provider="userspace"}': 2 });
    expect(await samples(made, 'svc_provider_up')).toEqual({ '{provider="userspace"}': 1 });
    expect(await samples(made, 'svc_event_subscribers')).toEqual({ '': 0 });
    expect(await samples(made, 'svc_http_request_duration_seconds_sum')).toEqual({
      '{route="getSandbox",method="GET",status="200"}': 0.5,
      '{route="getSandbox",method="GET",status="503"}': 0.25,
    });
  });

  it('refusals by their reason, and readers', async () => {
    const made = await used({ defaults: { max_sandboxes: 2 } });
    await expect(made.control.sandboxes.spawn({}, api, {}, forever)).rejects.toThrow();
    expect(await samples(made, 'svc_admission_total')).toEqual({
      '{decision="allowed",reason="none"}': 2,
      '{decision="denied",reason="max_sandboxes"}': 1,
    });
    const reader = await made.control.events.subscribe({}, api);
    expect(await samples(made, 'svc_event_subscribers')).toEqual({ '': 1 });
    reader.end();
    expect(await samples(made, 'svc_event_subscribers')).toEqual({ '': 0 });
  });

  it('quotas, without their owners', async () => {
    const made = world();
    const limits = { max_sandboxes: 3, max_ttl: '0s', max_exec_timeout: '1h' };
    await made.control.quotas.put(OWNER, limits, admin);
    expect(await samples(made, 'svc_owner_quotas')).toEqual({ '': 1 });
    expect(await samples(made, 'svc_owner_quota_overrides')).toEqual({
      '{limit="max_sandboxes"}': 1,
      '{limit="max_ttl"}': 0,
      '{limit="max_exec_timeout"}': 1,
    });
    expect((await made.control.metrics.body()).quotas).toMatchObject({ total: 1, with_max_exec_timeout: 1 });
  });

  it('orphans that are destroyed', async () => {
    const made = world();
    await made.fake.create(
      {
        id: 'sb-nobody',
        epoch: 1,
        image: undefined,
        memory_mb: 1,
        vcpus: 1,
        network: 'default',
        expires_at: '',
      },
      forever,
    );
    await made.control.start();
    expect(await samples(made, 'svc_orphans_total')).toEqual({ '{provider="userspace"}': 1 });
    await made.control.stop();
  });
});

it('says the same in JSON', async () => {
  const made = await used();
  const { control, clock } = made;
  const reader = await control.events.subscribe({}, api);
  expect(await control.metrics.body()).toMatchObject({
    generated_at: new Date(clock.now()).toISOString(),
    process: { resident_memory_bytes: expect.any(Number) },
    store: { status: 'ok', latency_ms: 0 },
    providers: [{ name: 'userspace', healthy: true }],
    sandboxes: {
      total: 2,
      by_state: { running: 2 },
      by_provider: { userspace: 2 },
      by_worker: { local: 2 },
    },
    events: { subscribers: 1, stored_total: 6, oldest_id: 1, newest_id: 6 },
    operations: [{ operation: 'getSandbox', requests: 3, failures: 1, avg_ms: 250 }],
  });
  reader.end();
});

it('counts rows at most every five seconds', async () => {
  const made = await used();
  await made.control.metrics.body();
  await made.control.sandboxes.spawn({}, api, {}, forever);
  expect((await made.control.metrics.body()).sandboxes.total).toBe(2);
  await made.clock.advance(5000);
  expect((await made.control.metrics.body()).sandboxes.total).toBe(3);
});

describe('the text', () => {
  it('holds every family once, with help and type, and no word of a stranger', async () => {
    const { text, type } = await (await used()).control.metrics.text();
    expect(type).toMatch(/^text\/plain; version=0\.0\.4/);
    for (const [name, { help, type: kind }] of Object.entries(METRICS)) {
      expect(text.split(`# HELP ${name} ${help}\n`)).toHaveLength(2);
      expect(text.split(`# TYPE ${name} ${kind}\n`)).toHaveLength(2);
    }
    expect(text).not.toMatch(/owner-that|sb-|hushhush/);
  });

  itWith(['promtool'], 'passes promtool, with the metrics of Node', async () => {
    const metrics = new Metrics();
    metrics.watchProcess();
    const own = await (await used()).control.metrics.text();
    const node = await metrics.text();
    const names = Object.keys(METRICS).join('|');
    const rest = node.text.split('\n').filter((line) => !new RegExp(`^(# \\w+ )?(${names})`).test(line));
    expect(rest.some((line) => line.startsWith('process_resident_memory_bytes '))).toBe(true);
    expect(
      promtool(['check', 'metrics'], `${own.text}\n${rest.filter((line) => line).join('\n')}\n`),
    ).toEqual({ code: 0, output: '' });
    expect(promtool(['check', 'metrics'], 'x_total 1\n').code).not.toBe(0);
  });
});

describe('diagnostics', () => {
  it('add build, limits and what to read', async () => {
    const made = await used();
    const body = await made.control.metrics.diagnostics({ logs: false });
    expect(body).toMatchObject({
      build: { version: '0.0.0', node: process.version },
      limits: { 'defaults.max_sandboxes': 0, 'defaults.max_ttl': '24h', 'server.shutdown_timeout': '30s' },
      remediation: { metrics: 'docs/metrics.md' },
      redactions: [],
      sandboxes: { total: 2 },
    });
    expect(body).not.toHaveProperty('logs');
    expect(JSON.stringify(body)).not.toContain(OWNER);
  });
});
