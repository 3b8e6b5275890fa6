// The guard around providers that fail, hang, ignore aborts and answer late.
import { describe, expect, it } from 'vitest';
import { ServiceError } from '../../../src/domain/errors.ts';
import { guard } from '../../../src/providers/guard.ts';
import type { Provider, RuntimeSpec } from '../../../src/providers/provider.ts';
import { fakeDeps } from '../../support/fakes/ports.ts';
import { fakeProvider } from '../../support/fakes/provider.ts';
import { type Operation, scriptedProvider } from '../../support/scripted/provider.ts';

const REF = { id: 'sb-1', epoch: 1 };
const SPEC: RuntimeSpec = {
  ...REF,
  ...{
    image: undefined,
    memory_mb: 64,
    vcpus: 1,
    network: 'default',
    expires_at: '2026-01-02T04:00:00.000Z',
  },
};
const CALLS: Record<Operation, (provider: Provider, signal: AbortSignal) => Promise<unknown>> = {
  create: (provider, signal) => provider.create(SPEC, signal),
  destroy: (provider, signal) => provider.destroy(REF, signal),
  inspect: (provider, signal) => provider.inspect(REF, signal),
  list: (provider, signal) => provider.list(signal),
  attach: (provider, signal) => provider.attach(REF, signal),
  probe: (provider, signal) => provider.probe(signal),
};
const DEADLINE_S = { create: 60, destroy: 60, inspect: 10, list: 10, attach: 10, probe: 3 };
const OPERATIONS = Object.keys(CALLS) as Operation[];
const REJECTING = OPERATIONS.filter((operation) => operation !== 'probe');

function setUp() {
  const deps = fakeDeps();
  const fake = fakeProvider(deps);
  const scripted = scriptedProvider(fake);
  return { ...deps, fake, scripted, provider: guard(scripted, deps) };
}

/** Says what became of it without making the test wait. */
function watch(promise: Promise<unknown>) {
  const seen: { outcome?: 'ok' | 'failed'; value?: unknown } = {};
  promise.then(
    (value) => Object.assign(seen, { outcome: 'ok', value }),
    (value) => Object.assign(seen, { outcome: 'failed', value }),
  );
  return seen;
}

describe('a provider that fails', () => {
  it.each(REJECTING)('%s: one public error that hides the cause', async (operation) => {
    const { provider, scripted } = setUp();
    scripted.decide = () => 'fail';
    const error = await CALLS[operation](provider, new AbortController().signal).catch((e: unknown) => e);
    expect(error).toMatchObject({ name: 'ServiceError', code: 'provider_error', cause: expect.any(Error) });
    expect((error as Error).message).toContain('userspace');
    expect((error as Error).message).toContain(operation);
    expect(JSON.stringify([(error as Error).message, (error as ServiceError).remedy])).not.toContain(
      'secret',
    );
  });

  it('a ServiceError passes unchanged', async () => {
    const { fake } = setUp();
    const mine = new ServiceError('not_found', 'No such image.');
    const provider = guard({ ...fake, create: () => Promise.reject(mine) }, fakeDeps());
    await expect(provider.create(SPEC, new AbortController().signal)).rejects.toBe(mine);
  });

  it('a synchronous throw becomes an ordinary error', async () => {
    const { fake } = setUp();
    const list = () => {
      throw new Error('at once');
    };
    const provider = guard({ ...fake, list }, fakeDeps());
    await expect(provider.list(new AbortController().signal)).rejects.toMatchObject({
      code: 'provider_error',
    });
  });

  it('snapshots exist only where the provider has them, and their errors hide the cause', async () => {
    const { fake, provider: without } = setUp();
    expect(without.snapshots).toBeUndefined();
    const snapshot = { image: 'i', kernel: 'k', size: 1, created_at: '2026-01-02T03:04:05.000Z' };
    const { signal } = new AbortController();
    const provider = guard({ ...fake, snapshots: async () => [snapshot] }, fakeDeps());
    expect(await provider.snapshots?.(signal)).toEqual([snapshot]);
    const failing = guard({ ...fake, snapshots: () => Promise.reject(new Error('disk')) }, fakeDeps());
    await expect(failing.snapshots?.(signal)).rejects.toMatchObject({ code: 'provider_error' });
  });

  it.each([
    ['create', (provider: Provider, signal: AbortSignal) => provider.create(SPEC, signal)],
    ['pull an image', (provider: Provider, signal: AbortSignal) => provider.readyImage?.(SPEC, signal)],
    ['watch', (provider: Provider, signal: AbortSignal) => provider.watch?.(() => {}, signal)],
  ])('names the worker when the provider fails to %s', async (action, call) => {
    const { fake } = setUp();
    const failing = () => Promise.reject(new Error('disk'));
    const broken = { ...fake, create: failing, readyImage: failing, watch: failing };
    const provider = guard(broken, { ...fakeDeps(), of: 'of worker edge-1' });
    await expect(call(provider, new AbortController().signal)).rejects.toThrow(
      `Provider userspace of worker edge-1 failed to ${action}.`,
    );
  });

  it('probe reports and never rejects', async () => {
    const { provider, scripted } = setUp();
    scripted.decide = () => 'fail';
    await expect(provider.probe(new AbortController().signal)).resolves.toMatchObject({ healthy: false });
  });
});

describe('a provider that hangs', () => {
  it.each(OPERATIONS)('%s: ends a second after its deadline', async (operation) => {
    const { provider, scripted, clock } = setUp();
    scripted.decide = () => 'hang';
    const seen = watch(CALLS[operation](provider, new AbortController().signal));
    await clock.advance(DEADLINE_S[operation] * 1000 - 1);
    expect(seen.outcome).toBeUndefined();
    await clock.advance(1001);
    if (operation === 'probe') expect(seen).toMatchObject({ outcome: 'ok', value: { healthy: false } });
    else expect(seen).toMatchObject({ outcome: 'failed', value: { code: 'unavailable' } });
  });

  it.each(REJECTING)(
    '%s: ends a second after the caller aborted, with the caller’s reason',
    async (operation) => {
      const { provider, scripted, clock } = setUp();
      scripted.decide = () => 'hang';
      const abort = new AbortController();
      const seen = watch(CALLS[operation](provider, abort.signal));
      await clock.advance(100);
      abort.abort(new Error('mine'));
      await clock.advance(1000);
      expect(seen).toMatchObject({ outcome: 'failed', value: { message: 'mine' } });
    },
  );

  it('leaves no timer behind', async () => {
    const { provider, scripted, clock } = setUp();
    await provider.list(new AbortController().signal);
    scripted.decide = () => 'fail';
    await provider.list(new AbortController().signal).catch(() => undefined);
    scripted.decide = () => 'hang';
    void provider.list(new AbortController().signal).catch(() => undefined);
    await clock.advance(20_000);
    expect(clock.pending()).toBe(0);
  });

  it('makes no call with an aborted signal', async () => {
    const { provider, scripted } = setUp();
    await expect(provider.list(AbortSignal.abort(new Error('mine')))).rejects.toThrow('mine');
    expect(scripted.calls.list).toBe(0);
  });
});

describe('a late result', () => {
  it('of a create: the runtime is destroyed', async () => {
    const { provider, scripted, clock, fake } = setUp();
    scripted.decide = (operation) => (operation === 'create' ? 'late' : undefined);
    void provider.create(SPEC, new AbortController().signal).catch(() => undefined);
    await clock.advance(61_000);
    scripted.release();
    await clock.advance(0);
    expect(fake.made).toHaveLength(1);
    expect(fake.runtimes.size).toBe(0);
  });

  it('of a create without unique names: the runtime is destroyed by its label', async () => {
    const { scripted, clock, fake, logger } = setUp();
    const provider = guard({ ...scripted, namesAreGiven: true }, { clock, logger });
    const other = fake.plant('sb-other');
    scripted.decide = (operation) => (operation === 'create' ? 'late' : undefined);
    const create = fake.create;
    fake.create = async (...given) => ({ ...(await create(...given)), runtime_id: other.runtime_id });
    void provider.create(SPEC, new AbortController().signal).catch(() => undefined);
    await clock.advance(61_000);
    scripted.release();
    await clock.advance(0);
    expect(fake.made).toHaveLength(1);
    expect([...fake.runtimes.values()]).toEqual([other]);
  });

  it('of an attach: the session is closed', async () => {
    const { provider, scripted, clock, fake } = setUp();
    const runtime = fake.plant('sb-1');
    scripted.decide = () => 'late';
    void provider.attach(REF, new AbortController().signal).catch(() => undefined);
    await clock.advance(11_000);
    scripted.release();
    await clock.advance(0);
    expect(scripted.calls.attach).toBe(1);
    expect(runtime.sessions.size).toBe(0);
  });

  it('within the last second counts: the runtime is returned', async () => {
    const { provider, scripted, clock } = setUp();
    scripted.decide = () => 'late';
    const abort = new AbortController();
    const seen = watch(provider.create(SPEC, abort.signal));
    await clock.advance(0);
    abort.abort(new Error('mine'));
    await clock.advance(500);
    scripted.release();
    await clock.advance(0);
    expect(seen).toMatchObject({ outcome: 'ok', value: { runtime_id: 'rt-1' } });
  });
});

describe('starts', () => {
  const start = (provider: Provider, n: number) =>
    Array.from({ length: n }, (_, i) =>
      watch(provider.create({ ...SPEC, id: `sb-${i}` }, new AbortController().signal)),
    );

  it('run 32 at once, the others in order, none lost', async () => {
    const { provider, scripted, clock, fake } = setUp();
    scripted.decide = (_, call) => (call <= 32 ? 'late' : undefined);
    const seen = start(provider, 100);
    await clock.advance(0);
    expect(scripted.calls.create).toBe(32);
    scripted.release();
    await clock.advance(0);
    expect(seen.every(({ outcome }) => outcome === 'ok')).toBe(true);
    expect(new Set(fake.made).size).toBe(100);
    const waited = fake.made.map((name) => Number(name.split(/[- ]/)[1])).filter((n) => n >= 32);
    expect(waited).toEqual(Array.from({ length: 68 }, (_, i) => i + 32));
  });

  it('wait in a bounded queue for a bounded time, and recover from a hung provider', async () => {
    const { provider, scripted, clock } = setUp();
    scripted.decide = () => 'hang';
    const seen = start(provider, 2033);
    await clock.advance(0);
    expect(seen[2032]).toMatchObject({
      outcome: 'failed',
      value: { code: 'unavailable', retryAfterMs: 1000 },
    });
    await clock.advance(62_000);
    expect(seen.every(({ outcome }) => outcome === 'failed')).toBe(true);
    scripted.decide = () => undefined;
    await expect(provider.create(SPEC, new AbortController().signal)).resolves.toMatchObject({
      image: 'host',
    });
  });

  it('free the slot of a caller that leaves the queue', async () => {
    const { provider, scripted, clock } = setUp();
    scripted.decide = () => 'late';
    start(provider, 32);
    const abort = new AbortController();
    const waiting = watch(provider.create(SPEC, abort.signal));
    await clock.advance(0);
    abort.abort(new Error('mine'));
    await clock.advance(0);
    expect(waiting).toMatchObject({ outcome: 'failed', value: { message: 'mine' } });
    scripted.release();
    await clock.advance(0);
    expect(scripted.calls.create).toBe(32);
  });
});
