// What a worker tells of itself, how often, and what it makes of the answers.
import { describe, expect, it } from 'vitest';
import { ServiceError } from '../../../src/domain/errors.ts';
import type { HeartbeatBody } from '../../../src/schema/worker.ts';
import { heartbeats, sendHeartbeat } from '../../../src/worker/heartbeats.ts';
import { seededRandom } from '../../support/fakes/ports.ts';
import { workerFixture } from '../../support/servers/worker-fixture.ts';

const facts = {
  hostname: 'h',
  version: '1',
  capacity: { vcpus: 2 },
  labels: {},
  rpcUrl: 'http://10.0.0.5:7424',
};

async function beating() {
  const bench = await workerFixture();
  const sent: { at: number; body: HeartbeatBody }[] = [];
  bench.link.heartbeat = (body) => {
    sent.push({ at: bench.clock.monotonic(), body });
    return bench.link.answering();
  };
  const beats = heartbeats({ parts: bench.parts, facts, intervalMs: 30_000, random: seededRandom() });
  bench.parts.draining.onChange = () => beats.soon();
  beats.start();
  await bench.clock.advance(0);
  return { bench, sent, beats, draining: bench.parts.draining };
}

describe('heartbeats', () => {
  it('tell what the worker offers', async () => {
    const { sent, bench } = await beating();
    expect(sent[0]?.body).toEqual({
      ...{ hostname: 'h', version: '1', capacity: { vcpus: 2 }, labels: {}, rpc_url: 'http://10.0.0.5:7424' },
      ...{
        status: 'online',
        providers: ['userspace'],
        capabilities: expect.arrayContaining(['connect', 'userspace/connect', 'sessions']),
        images: [],
      },
    });
    bench.provider.probe = async () => ({ healthy: false, findings: [] });
    await bench.clock.advance(40_000);
    expect(sent.at(-1)?.body).toMatchObject({ providers: [], capabilities: ['sessions'] });
  });

  it('list at most 64 images of the worker, and none if the engine cannot list them', async () => {
    const bench = await workerFixture();
    const reported: HeartbeatBody[] = [];
    bench.link.heartbeat = (body) => {
      reported.push(body);
      return bench.link.answering();
    };
    const names = Array.from({ length: 70 }, (_, n) => `team/app:${n}`);
    const odd = ['', 'with space', '\0', 'x'.repeat(257)];
    bench.provider.presentImages = async () => [...odd, 'debian:12', 'debian:12', ...names];
    await sendHeartbeat({ ...bench, facts });
    expect(reported[0]?.images).toEqual(['debian:12', ...names.slice(0, 63)]);
    bench.provider.presentImages = () => Promise.reject(new ServiceError('unavailable', 'not now'));
    await sendHeartbeat({ ...bench, facts });
    expect(reported[1]).toMatchObject({ images: [], providers: ['userspace'] });
  });

  it('report the address for calls: empty without one, omitted while it is unknown', async () => {
    const bench = await workerFixture();
    const told: HeartbeatBody[] = [];
    bench.link.heartbeat = (body) => {
      told.push(body);
      return bench.link.answering();
    };
    for (const rpcUrl of ['', undefined]) await sendHeartbeat({ ...bench, facts: { ...facts, rpcUrl } });
    expect(told[0]?.rpc_url).toBe('');
    expect(told[1]).not.toHaveProperty('rpc_url');
  });

  it('are sent at the interval, plus or minus a fifth, and not after the stop', async () => {
    const { sent, bench, beats } = await beating();
    await bench.clock.advance(600_000);
    const gaps = sent.slice(1).map(({ at }, i) => at - (sent[i]?.at ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(24_000);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(36_000);
    expect(new Set(gaps).size).toBeGreaterThan(5);
    beats.stop();
    const count = sent.length;
    await bench.clock.advance(600_000);
    expect(sent).toHaveLength(count);
  });

  it('are repeated soon without an answer, with growing pauses', async () => {
    const { sent, bench } = await beating();
    bench.link.answering = () => Promise.reject(new ServiceError('unavailable', 'nobody'));
    await bench.clock.advance(40_000);
    const from = sent.length;
    await bench.clock.advance(20_000);
    expect(sent.length - from).toBeGreaterThanOrEqual(2);
    expect(sent.length - from).toBeLessThanOrEqual(6);
    await bench.clock.advance(3_600_000);
    expect(sent.length).toBeLessThan(200);
  });

  it('time out after 10 s', async () => {
    const { sent, bench } = await beating();
    bench.link.answering = () => new Promise(() => {});
    bench.link.heartbeat = (body, signal) => {
      sent.push({ at: bench.clock.monotonic(), body });
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    };
    await bench.clock.advance(40_000);
    const from = sent.length;
    await bench.clock.advance(30_000);
    expect(sent.length).toBeGreaterThan(from);
  });
});

describe('draining', () => {
  it('that is cancelled before a heartbeat was answered ends with the next answer', async () => {
    const { bench, draining } = await beating();
    bench.link.answering = () => Promise.reject(new ServiceError('unavailable', 'nobody'));
    await bench.call('worker.shutdown', { drain: true });
    await bench.clock.advance(1_000);
    expect(draining.isDraining).toBe(true);
    bench.link.answering = async () => ({ id: 'w1', status: 'online', drain: false });
    await bench.clock.advance(40_000);
    expect(draining.isDraining).toBe(false);
  });

  it('begins and ends as the answers say, and is reported at once', async () => {
    const { sent, bench, draining } = await beating();
    const answer = (drain: boolean) => {
      bench.link.answering = async () => ({ drain });
    };
    answer(true);
    await bench.clock.advance(40_000);
    expect(draining.isDraining).toBe(true);
    expect(sent.at(-1)?.body.status).toBe('draining');
    answer(false);
    await bench.clock.advance(40_000);
    expect(draining.isDraining).toBe(false);
    expect(sent.at(-1)?.body.status).toBe('online');
  });

  it('by a call lasts until the control plane has asked for it and cancelled it', async () => {
    const { sent, bench, draining } = await beating();
    const count = sent.length;
    await bench.call('worker.shutdown', {});
    await bench.clock.advance(100);
    expect(sent.length).toBe(count + 1);
    expect(sent.at(-1)?.body.status).toBe('draining');
    await bench.clock.advance(120_000);
    expect(draining.isDraining).toBe(true);
  });

  it('of a worker that stops is not cancelled', async () => {
    const { draining } = await beating();
    draining.stop();
    draining.update(true);
    draining.update(false);
    expect(draining.isDraining).toBe(true);
  });
});
