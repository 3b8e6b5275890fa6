// Providers and health as the API shows them.
import { describe, expect, it } from 'vitest';
import { api, forever, world } from '../../../support/servers/control.ts';

describe('providers', () => {
  it('are shown with their health, cached for 5 s', async () => {
    const w = world();
    const [item] = await w.control.providers.list();
    expect(item).toEqual({
      ...{ name: 'userspace', kind: 'userspace', default: true, healthy: true, latency_ms: 0 },
      ...{
        last_checked: '2026-01-02T03:04:05.000Z',
        capabilities: ['exec', 'stream', 'files', 'network_none', 'connect'],
      },
    });
    await Promise.all(Array.from({ length: 20 }, () => w.control.providers.list()));
    expect(w.provider.calls.probe).toBe(1);
    await w.clock.advance(5000);
    await Promise.all(Array.from({ length: 20 }, () => w.control.providers.list()));
    expect(w.provider.calls.probe).toBe(2);
  });

  it('are shown in detail with count, isolation, images and configuration', async () => {
    const w = world();
    await w.control.sandboxes.spawn({}, api, {}, forever);
    expect(await w.control.providers.get('userspace')).toMatchObject({
      ...{
        sandbox_count: 1,
        isolation: { filesystem: 'none' },
        images: ['host'],
        config: { runner: 'auto' },
      },
    });
    await expect(w.control.providers.get('nope')).rejects.toMatchObject({
      code: 'not_found',
      details: { providers: ['userspace'] },
    });
  });

  it('are unhealthy after 3 s when they hang, with the reason and one event', async () => {
    const w = world();
    w.provider.decide = () => 'hang';
    for (let i = 0; i < 3; i++) {
      const items = w.control.providers.list();
      await w.clock.advance(10_000);
      expect((await items)[0]).toMatchObject({ healthy: false, error: expect.stringContaining('3 s') });
    }
    expect((await w.events()).map(({ type }) => type)).toEqual(['provider.failed']);
  });
});

describe('health', () => {
  it('reports alive, ready and healthy', async () => {
    const w = world();
    await w.clock.advance(90_500);
    expect(w.control.health.live(true)).toEqual({ status: 'alive', version: '0.0.0', uptime: '1m30s' });
    expect(await w.control.health.ready(true)).toEqual({
      ...{
        status: 'ready',
        providers: [{ name: 'userspace', healthy: true }],
        ready_providers: 1,
        total_providers: 1,
      },
    });
    expect(await w.control.health.health(true)).toEqual({
      ...{ status: 'ok', version: '0.0.0', uptime: '1m30s', uptime_seconds: 90 },
      checks: {
        database: { status: 'ok', latency_ms: 0 },
        providers: { status: 'ok', latency_ms: 0 },
        workers: { status: 'ok', latency_ms: 0 },
      },
    });
  });

  it('shows only status words without a key', async () => {
    const { control } = world();
    expect(control.health.live(false)).toEqual({ status: 'alive' });
    expect(await control.health.ready(false)).toEqual({ status: 'ready' });
    expect(await control.health.health(false)).toEqual({
      status: 'ok',
      checks: { database: { status: 'ok' }, providers: { status: 'ok' }, workers: { status: 'ok' } },
    });
  });

  it('is alive but not ready 2 s after a provider starts to hang', async () => {
    const w = world();
    w.provider.decide = () => 'hang';
    const ready = w.control.health.ready(true);
    await w.clock.advance(2000);
    expect(await ready).toMatchObject({ status: 'not_ready', ready_providers: 0, total_providers: 1 });
    expect(w.control.health.live(true)).toMatchObject({ status: 'alive' });
  });

  it('is degraded without its database or its providers', async () => {
    const w = world();
    w.store.ping = () => Promise.reject(new Error('/var/lib/secret'));
    w.provider.decide = () => 'fail';
    const health = await w.control.health.health(true);
    expect(health).toMatchObject({
      status: 'degraded',
      checks: { database: { status: 'failed' }, providers: { status: 'failed' } },
    });
    expect(JSON.stringify(health)).not.toContain('secret');
  });

  it('shows the duration of the last commit when the disk is slow', async () => {
    const w = world();
    w.store.ping = async () => ({ commit_ms: 3040 });
    expect((await w.control.health.health(true)).checks.database).toMatchObject({
      status: 'degraded',
      message: expect.stringContaining('its last commit took 3.0 s'),
    });
    w.store.ping = async () => ({ commit_ms: 999 });
    expect((await w.control.health.health(true)).checks.database.status).toBe('ok');
  });
});
