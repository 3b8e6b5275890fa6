// Numbers: counted where they happen, the same in JSON and in text, without a word of strangers in their labels.
import { describe, expect, it } from 'vitest';
import { Metrics } from '../../../../src/control/metrics/metrics.ts';
import { ServiceError } from '../../../../src/domain/errors.ts';
import { METRICS } from '../../../../src/schema/metric.ts';
import { promtool } from '../../../support/checks/promtool.ts';
import { itWith } from '../../../support/requires.ts';
import { admin, api, forever, owned, roomy, type World, world } from '../../../support/servers/control.ts';
import { until } from '../../../support/until.ts';

const OWNER = 'owner-that-must-not-show';

async function used(config: Parameters<typeof world>[0] = {}): Promise<World> {
  const made = world(config);
  const { id } = await made.control.sandboxes.spawn({}, owned(OWNER), {}, forever);
  await made.control.sandboxes.spawn({ metadata: { purpose: 'hushhush' } }, owned(OWNER), {}, forever);
  await made.control.exec.run(id, { command: 'true' }, owned(OWNER), forever, roomy);
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

describe('counters', () => {
  it('count spawns, commands, events and requests', async () => {
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

  it('count refusals by reason, and readers', async () => {
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

  it('count queued spawns once in each metric', async () => {
    const limits = { max_sandboxes: 1, max_spawn_queue: 2, spawn_queue_timeout: '30s' };
    const made = world({ defaults: { spawn_overflow: 'queue', ...limits } });
    const spawn = (ttl = '1h') => made.control.sandboxes.spawn({ ttl }, api, {}, forever);
    const first = await spawn();
    const waiting = [spawn()];
    await made.clock.advance(0);
    waiting.push(spawn());
    await made.clock.advance(2000);
    await expect(spawn()).rejects.toMatchObject({ details: { reason: 'queue_full' } });
    await expect(spawn('25h')).rejects.toMatchObject({ details: { reason: 'max_ttl' } });
    expect(await samples(made, 'svc_spawn_queue_depth')).toEqual({ '': 2 });
    expect(await samples(made, 'svc_spawn_queue_capacity')).toEqual({ '': 2 });
    await made.control.sandboxes.destroy(first.id, api);
    await waiting[0];
    const timedOut = expect(waiting[1]).rejects.toMatchObject({ details: { reason: 'queue_timeout' } });
    await made.clock.advance(30_000);
    await timedOut;
    expect(await samples(made, 'svc_admission_total')).toEqual({
      '{decision="allowed",reason="none"}': 2,
      '{decision="queued",reason="max_sandboxes"}': 1,
      '{decision="queued",reason="behind_others"}': 1,
      '{decision="denied",reason="queue_full"}': 1,
      '{decision="denied",reason="max_ttl"}': 1,
      '{decision="denied",reason="queue_timeout"}': 1,
    });
    expect(await samples(made, 'svc_spawn_queue_enqueued_total')).toEqual({ '': 2 });
    expect(await samples(made, 'svc_spawn_queue_dequeued_total')).toEqual({ '': 1 });
    expect(await samples(made, 'svc_spawn_queue_timeouts_total')).toEqual({ '': 1 });
    expect(await samples(made, 'svc_spawn_queue_wait_seconds_sum')).toEqual({ '': 2 });
    expect((await made.control.metrics.body()).scheduler).toEqual({
      ...{ spawn_overflow: 'queue', spawn_queue_depth: 0, max_spawn_queue: 2, spawn_queue_timeout: '30s' },
      ...{ spawn_queued_total: 2, spawn_dequeued_total: 1, spawn_queue_timeouts: 1 },
      ...{ spawn_queue_wait_total_ms: 2000, spawn_queue_wait_max_ms: 2000, spawn_queue_wait_avg_ms: 2000 },
    });
  });

  it('count a disabled queue as one without capacity', async () => {
    expect(await samples(world(), 'svc_spawn_queue_capacity')).toEqual({ '': 0 });
  });

  it('count rate-limited calls by their outcome', async () => {
    const made = world({ rate_limit: { enabled: true, burst: 2, requests_per_minute: 1 } });
    const { rates } = made.control;
    const [caller, guesser] = [rates.bucket('caller'), rates.bucket('guesser')];
    for (let n = 0; n < 3; n += 1) rates.call(caller);
    for (let n = 0; n < 2; n += 1) rates.failed(guesser);
    rates.mayTry(guesser);
    const counted = { allowed_total: 2, limited_total: 1, failed_total: 2, blocked_total: 1, buckets: 2 };
    expect((await made.control.metrics.body()).rate_limit).toMatchObject({ enabled: true, ...counted });
    expect(await samples(made, 'svc_rate_limit_requests_total')).toEqual({
      '{outcome="allowed"}': 2,
      '{outcome="limited"}': 1,
      '{outcome="failed"}': 2,
      '{outcome="blocked"}': 1,
    });
    expect(await samples(made, 'svc_rate_limit_buckets')).toEqual({ '': 2 });
    // What is read twice is not counted twice.
    expect((await samples(made, 'svc_rate_limit_requests_total'))['{outcome="allowed"}']).toBe(2);
  });

  it('count bytes held for calls, and refused holds', async () => {
    const made = await used();
    const hold = made.ledger.open({ name: `owner ${OWNER}`, isOwner: true });
    hold.grow(5_000_000);
    const { limit_bytes } = made.ledger.stats();
    hold.growUpTo(limit_bytes);
    const numbers = { limit_bytes, held_bytes: limit_bytes, peak_bytes: limit_bytes, holders: 1 };
    expect((await made.control.metrics.body()).buffers).toEqual({
      ...numbers,
      ...{ refused_share_total: 0, refused_full_total: 1 },
    });
    expect((await made.control.metrics.diagnostics({ logs: false })).buffers).toMatchObject(numbers);
    expect(await samples(made, 'svc_buffer_bytes')).toEqual({ '': limit_bytes });
    expect(await samples(made, 'svc_buffer_limit_bytes')).toEqual({ '': limit_bytes });
    expect(await samples(made, 'svc_buffer_refusals_total')).toEqual({
      '{reason="share"}': 0,
      '{reason="full"}': 1,
    });
    hold.release();
    expect(await samples(made, 'svc_buffer_bytes')).toEqual({ '': 0 });
  });

  it('count ready sandboxes, and spawns that got one', async () => {
    const made = world();
    await made.control.start();
    await made.control.templates.create({ name: 'warm', image: 'host', prewarm: 2 }, admin);
    const ready = async () => (await made.control.metrics.body()).prewarm.ready;
    const settle = async () => {
      await made.clock.advance(1000);
      return ready();
    };
    for (let n = 0; n < 20 && (await settle()) < 2; n += 1);
    expect(await samples(made, 'svc_prewarm_sandboxes')).toEqual({
      '{state="ready"}': 2,
      '{state="starting"}': 0,
    });
    await made.control.templates.spawn('warm', {}, api, {}, forever);
    expect(await samples(made, 'svc_prewarm_wanted')).toEqual({ '': 2 });
    expect(await samples(made, 'svc_prewarm_claims_total')).toEqual({
      '{outcome="claimed"}': 1,
      '{outcome="missed"}': 0,
    });
    expect((await samples(made, 'svc_prewarm_runtimes_total'))['{outcome="made"}']).toBe(2);
    // Taking a prewarmed sandbox counts as one admission.
    expect(await samples(made, 'svc_admission_total')).toEqual({ '{decision="allowed",reason="none"}': 1 });
    await made.control.stop();
  });

  it('count quotas without their owners', async () => {
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

  it('count destroyed orphans', async () => {
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

it('the JSON body has the same values', async () => {
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

it('the text has what this process counted, and no old rows, while the database does not answer', async () => {
  const made = await used();
  expect(await samples(made, 'svc_database_up')).toEqual({ '': 1 });
  const { ping } = made.store;
  made.store.ping = () => Promise.reject(new ServiceError('unavailable', 'The database does not answer.'));
  expect(await samples(made, 'svc_database_up')).toEqual({ '': 0 });
  expect(await samples(made, 'svc_sandboxes')).toEqual({});
  expect(await samples(made, 'svc_admission_total')).toEqual({ '{decision="allowed",reason="none"}': 2 });
  made.store.ping = ping;
  expect(await samples(made, 'svc_sandboxes')).toEqual({ '{state="running",provider="userspace"}': 2 });
});

it('rows are counted at most every five seconds', async () => {
  const made = await used();
  await made.control.metrics.body();
  await made.control.sandboxes.spawn({}, api, {}, forever);
  expect((await made.control.metrics.body()).sandboxes.total).toBe(2);
  await made.clock.advance(5000);
  expect((await made.control.metrics.body()).sandboxes.total).toBe(3);
});

describe('the text', () => {
  it('holds every family once, with help and type, and no text from a caller', async () => {
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

describe('event loop lag', () => {
  it('is the time beyond the sampling interval', async () => {
    const metrics = new Metrics();
    metrics.watchProcess();
    const lag = async (part: string) => {
      const line = (await metrics.text()).text.match(
        new RegExp(`^nodejs_eventloop_lag_${part}_seconds (.*)$`, 'm'),
      );
      return Number(line?.[1]);
    };
    // Nothing has been sampled yet.
    expect(await lag('min')).toBe(0);
    await new Promise((resolve) => setTimeout(resolve, 350));
    // An idle loop showed the interval itself, 0.1 s.
    expect(await lag('min')).toBeLessThan(0.05);
    // Reading resets the samples, and the first tick after that records nothing.
    await new Promise((resolve) => setTimeout(resolve, 250));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(await lag('max')).toBeGreaterThan(0.2);
  });
});

describe('diagnostics', () => {
  it('add the build, the limits and links to documents', async () => {
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
