// What a worker does with the sandboxes it is given: calls, leases, its own clock, a kill and a restart.
import { describe, expect, it } from 'vitest';
import { refuseDifferences } from '../../../src/domain/differences.ts';
import { ServiceError } from '../../../src/domain/errors.ts';
import { TERM_MS, type WorkerFixture, workerFixture } from '../../support/servers/worker-fixture.ts';

const A = 'sb-aaaaaaaaaaaa';
const B = 'sb-bbbbbbbbbbbb';
const runtimes = ({ provider }: WorkerFixture) => [...provider.runtimes.values()].map(({ id }) => id);
const ref = (id: string) => ({ sandbox_id: id, provider: 'userspace' });
const destroy = (bench: WorkerFixture, id: string, generation: number) =>
  bench.call('worker.destroy', ref(id), bench.lease(id, generation));
const state = async (bench: WorkerFixture, id: string) =>
  (await bench.call('worker.status', ref(id))).answer.result?.state;

describe('spawn', () => {
  it('starts a sandbox, once however often it is asked', async () => {
    const bench = await workerFixture();
    const first = await bench.spawn(A, 1);
    expect(first).toMatchObject({
      status: 200,
      answer: { id: 'call', worker_id: 'w1', result: { sandbox_id: A, state: 'running', worker_id: 'w1' } },
    });
    expect((await bench.spawn(A, 1)).answer.result).toEqual(first.answer.result);
    expect((await bench.spawn(A, 2)).answer.result).toEqual(first.answer.result);
    expect(bench.provider.made).toEqual([`${A} 1`]);
    expect(await state(bench, A)).toBe('running');
  });

  it('tells whether its image is still what a start would run, and nothing where nobody asks', async () => {
    const bench = await workerFixture();
    const status = async () =>
      (await bench.call('worker.status', { ...ref(A), image: true })).answer.result?.image_is_current;
    await bench.spawn(A, 1, { image: 'py' });
    expect(await status()).toBe(true);
    const asked: unknown[] = [];
    let id = 'sha256:1';
    bench.provider.imageId = async ({ image }) => {
      asked.push(image);
      return id;
    };
    // It started when the provider could not tell.
    expect(await status()).toBe(false);
    await destroy(bench, A, 1);
    await bench.spawn(A, 2, { image: 'py' });
    expect([await status(), asked]).toEqual([true, ['py', 'py']]);
    id = 'sha256:2';
    expect(await status()).toBe(false);
    expect((await bench.call('worker.status', ref(A))).answer.result).toEqual({
      ...{ sandbox_id: A, state: 'running', provider: 'userspace' },
    });
  });

  it('is refused as it was asked for, where it is strict, and leaves nothing', async () => {
    const bench = await workerFixture();
    const create = bench.provider.create;
    bench.provider.create = async (spec, signal) => {
      refuseDifferences(spec.strict, ['memory_mb: cut.']);
      return { ...(await create(spec, signal)), warnings: ['memory_mb: cut.'] };
    };
    expect(await bench.spawn(A, 1, { strict: true })).toMatchObject({
      status: 412,
      answer: { error: { code: 'precondition_failed', message: expect.stringContaining('memory_mb: cut.') } },
    });
    expect(runtimes(bench)).toEqual([]);
    expect((await bench.spawn(A, 2)).answer.result).toMatchObject({ warnings: ['memory_mb: cut.'] });
  });

  it.each<[string, (bench: WorkerFixture) => ReturnType<WorkerFixture['call']>, number]>([
    [
      'without a lease',
      (b) => b.call('worker.spawn', { ...ref(A), memory_mb: 64, vcpus: 1, ttl: '1m' }),
      400,
    ],
    ['without a provider', (b) => b.spawn(A, 1, { provider: undefined }), 400],
    ['with an id that is a path', (b) => b.spawn('sb-../../etc', 1), 400],
    ['with a life that is none', (b) => b.spawn(A, 1, { ttl: 'forever' }), 400],
    ['with an unknown provider', (b) => b.spawn(A, 1, { provider: 'nowhere' }), 404],
    [
      'with a lease for another',
      (b) => b.call('worker.spawn', { ...ref(A), memory_mb: 64, vcpus: 1, ttl: '1m' }, b.lease(B, 1)),
      403,
    ],
    [
      'with a lease of another holder',
      (b) =>
        b.call(
          'worker.spawn',
          { ...ref(A), memory_mb: 64, vcpus: 1, ttl: '1m' },
          b.lease(A, 1, { holder_id: 'w2' }),
        ),
      403,
    ],
    [
      'with a lease that is over',
      (b) =>
        b.call(
          'worker.spawn',
          { ...ref(A), memory_mb: 64, vcpus: 1, ttl: '1m' },
          b.lease(A, 1, { expires_at: '2020-01-01T00:00:00.000Z' }),
        ),
      403,
    ],
    [
      'with a lease that was changed',
      (b) =>
        b.call(
          'worker.spawn',
          { ...ref(A), memory_mb: 64, vcpus: 1, ttl: '1m' },
          { ...b.lease(A, 1), generation: 9 },
        ),
      403,
    ],
    ['by an unknown method', (b) => b.call('worker.exec', ref(A)), 400],
    ['by a method of all objects', (b) => b.call('constructor', ref(A)), 400],
  ])('%s is refused', async (_name, call, status) => {
    const bench = await workerFixture();
    const { status: got, answer } = await call(bench);
    expect([got, answer.error?.message.length]).toEqual([status, expect.any(Number)]);
    expect(bench.provider.made).toEqual([]);
  });

  it('is refused beyond its places and while it drains; what runs is not touched', async () => {
    const bench = await workerFixture({ maxSandboxes: 1 });
    await bench.spawn(A);
    expect((await bench.spawn(B)).status).toBe(503);
    await destroy(bench, A, 1);
    expect((await bench.spawn(B)).status).toBe(200);
    expect((await bench.call('worker.shutdown', {})).answer.result).toEqual({ status: 'draining' });
    expect((await bench.spawn(A, 2)).status).toBe(503);
    expect((await bench.spawn(B)).status).toBe(200);
    expect(runtimes(bench)).toEqual([B]);
  });

  it('that fails leaves nothing, and may be asked for again under a newer lease alone', async () => {
    const bench = await workerFixture();
    const { create } = bench.provider;
    bench.provider.create = async (spec, signal) => {
      await create(spec, signal);
      throw new ServiceError('provider_error', 'half made');
    };
    expect((await bench.spawn(A, 1)).status).toBe(500);
    bench.provider.create = create;
    expect(runtimes(bench)).toEqual([]);
    expect((await bench.spawn(A, 1)).status).toBe(403);
    expect((await bench.spawn(A, 2)).status).toBe(200);
  });

  it('whose runtime came too late ends that very runtime', async () => {
    const bench = await workerFixture();
    const ended: unknown[] = [];
    const { create, destroy: really } = bench.provider;
    bench.provider.destroy = (given, signal) => {
      ended.push(given.runtime_id);
      return really(given, signal);
    };
    bench.provider.create = async (spec, signal) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return create(spec, signal);
    };
    const spawning = bench.spawn(A, 1);
    await bench.clock.advance(1);
    await destroy(bench, A, 1);
    expect((await spawning).status).toBe(503);
    expect([ended, runtimes(bench)]).toEqual([['rt-1'], []]);
  });

  it('is given up when it is destroyed meanwhile, and with its lease', async () => {
    const bench = await workerFixture();
    const { create } = bench.provider;
    bench.provider.create = (_spec, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    const spawning = bench.spawn(A, 1);
    await bench.clock.advance(1);
    expect((await destroy(bench, A, 1)).status).toBe(200);
    expect((await spawning).status).toBe(503);
    const late = bench.spawn(B, 1);
    await bench.clock.advance(TERM_MS + 1000);
    expect((await late).status).toBe(503);
    bench.provider.create = create;
    expect(runtimes(bench)).toEqual([]);
  });
});

describe('destroy', () => {
  it('is done however often, and refuses the spawn that it has overtaken', async () => {
    const bench = await workerFixture();
    expect((await destroy(bench, A, 3)).status).toBe(200);
    expect((await bench.spawn(A, 2)).status).toBe(403);
    expect((await bench.spawn(A, 3)).status).toBe(403);
    await bench.spawn(B, 1);
    for (let i = 0; i < 2; i++)
      expect((await destroy(bench, B, 1)).answer.result).toEqual({ ...ref(B), state: 'gone' });
    expect(await state(bench, B)).toBe('gone');
    expect(bench.provider.made).toEqual([`${B} 1`]);
  });

  it('does not wait for a look at its state', async () => {
    const bench = await workerFixture();
    await bench.spawn(A);
    bench.provider.inspect = () => new Promise(() => undefined);
    void bench.call('worker.status', ref(A));
    await bench.clock.advance(1);
    expect((await destroy(bench, A, 1)).status).toBe(200);
    expect(runtimes(bench)).toEqual([]);
  });

  it('is refused under an older lease, and for another runtime', async () => {
    const bench = await workerFixture();
    await bench.spawn(A, 5);
    expect((await destroy(bench, A, 4)).status).toBe(403);
    const other = { ...ref(A), runtime_id: 'rt-99' };
    expect((await bench.call('worker.destroy', other, bench.lease(A, 5))).status).toBe(404);
    expect((await bench.call('worker.status', other)).status).toBe(404);
    expect((await bench.call('worker.status', { ...ref(A), provider: 'container' })).status).toBe(404);
    expect(runtimes(bench)).toEqual([A]);
  });

  it('that fails is tried again until nothing is left', async () => {
    const bench = await workerFixture();
    await bench.spawn(A);
    const { destroy: really } = bench.provider;
    bench.provider.destroy = async () => {
      throw new ServiceError('unavailable', 'not now');
    };
    expect((await destroy(bench, A, 1)).status).toBe(503);
    await bench.clock.advance(10_000);
    expect(runtimes(bench)).toEqual([A]);
    bench.provider.destroy = really;
    await bench.clock.advance(5_000);
    expect(runtimes(bench)).toEqual([]);
  });
});

describe('a full disk', () => {
  it('keeps no sandbox from being ended, when asked and when its lease is over', async () => {
    const bench = await workerFixture();
    await bench.spawn(A, 1);
    await bench.spawn(B, 1);
    bench.disk.full = true;
    bench.link.renewing = () => Promise.reject(new ServiceError('unavailable', 'nobody'));
    expect((await destroy(bench, A, 1)).status).toBe(200);
    expect(runtimes(bench)).toEqual([B]);
    await bench.clock.advance(TERM_MS + 1_000);
    expect(runtimes(bench)).toEqual([]);
    expect(bench.parts.sandboxes.living()).toEqual([]);
  });

  it('loses no lease that was renewed', async () => {
    const bench = await workerFixture();
    await bench.spawn(A);
    bench.disk.full = true;
    await bench.clock.advance(TERM_MS * 2);
    expect(runtimes(bench)).toEqual([A]);
  });

  it('lets nothing start', async () => {
    const bench = await workerFixture();
    bench.disk.full = true;
    expect((await bench.spawn(A)).status).toBe(503);
    expect(bench.provider.made).toEqual([]);
  });
});

describe('a disk that stands still', () => {
  const stopped = (bench: WorkerFixture) => {
    let resolve = () => {};
    bench.disk.writes = new Promise((settle) => {
      resolve = settle;
    });
    return () => {
      bench.disk.writes = undefined;
      resolve();
    };
  };

  it('keeps no sandbox from being ended when its lease is over', async () => {
    const bench = await workerFixture();
    await bench.spawn(A);
    const goOn = stopped(bench);
    bench.link.renewing = () => Promise.reject(new ServiceError('unavailable', 'nobody'));
    await bench.clock.advance(TERM_MS + 21_000);
    expect(runtimes(bench)).toEqual([]);
    goOn();
    await bench.clock.advance(1_000);
    await bench.restart();
    expect(bench.parts.sandboxes.living()).toEqual([]);
  });

  it('forgets no generation that it saw while something else was written', async () => {
    const bench = await workerFixture();
    await bench.spawn(A);
    const goOn = stopped(bench);
    const ending = destroy(bench, A, 1);
    const renewing = bench.parts.sandboxes.adopt(A, bench.lease(A, 3), {
      requestedAt: bench.clock.monotonic(),
    });
    const late = bench.parts.sandboxes.adopt(A, bench.lease(A, 2), { requestedAt: bench.clock.monotonic() });
    goOn();
    await Promise.all([ending, renewing, late]);
    const { record } = bench.parts.sandboxes.find(A) ?? {};
    expect(record).toMatchObject({ state: 'ended', generation: 3 });
    await bench.restart();
    expect((await bench.spawn(A, 2)).status).toBe(403);
  });
});

describe('leases', () => {
  it('are renewed at a third of their term, for as long as the sandbox lives', async () => {
    const bench = await workerFixture();
    await bench.spawn(A);
    await bench.clock.advance(TERM_MS * 3);
    expect(bench.link.renewed.length).toBeGreaterThanOrEqual(8);
    expect(bench.link.renewed.length).toBeLessThanOrEqual(9);
    expect(bench.link.renewed[0]).toEqual({ worker_id: 'w1', resource_id: A, ttl: '1m30s' });
    expect(runtimes(bench)).toEqual([A]);
    await bench.clock.advance(600_000);
    expect(runtimes(bench)).toEqual([]);
  });

  it('run out when nobody answers, by the time that passes and not by the wall clock', async () => {
    const bench = await workerFixture();
    bench.link.renewing = () => Promise.reject(new ServiceError('unavailable', 'nobody'));
    await bench.spawn(A);
    bench.clock.jump(-3_600_000);
    await bench.clock.advance(TERM_MS - 1_000);
    bench.clock.jump(7_200_000);
    await bench.clock.advance(500);
    expect(runtimes(bench)).toEqual([A]);
    await bench.clock.advance(1_500);
    expect(runtimes(bench)).toEqual([]);
    expect(await state(bench, A)).toBe('gone');
  });

  it('hold on through a control plane that is away for a while', async () => {
    const bench = await workerFixture();
    const { renewing } = bench.link;
    await bench.spawn(A);
    bench.link.renewing = () => Promise.reject(new ServiceError('unavailable', 'nobody'));
    await bench.clock.advance(TERM_MS - 10_000);
    bench.link.renewing = renewing;
    await bench.clock.advance(TERM_MS);
    expect(runtimes(bench)).toEqual([A]);
  });

  it.each(['conflict', 'not_found'] as const)(
    'that are refused with %s end the sandbox at once',
    async (code) => {
      const bench = await workerFixture();
      await bench.spawn(A);
      bench.link.renewing = () => Promise.reject(new ServiceError(code, 'not yours'));
      await bench.clock.advance(TERM_MS / 3 + 1_000);
      expect(runtimes(bench)).toEqual([]);
    },
  );

  it('that are forged are not taken', async () => {
    const bench = await workerFixture();
    await bench.spawn(A, 7);
    bench.link.renewing = async () => ({
      lease: { ...bench.lease(A, 8), expires_at: '2099-01-01T00:00:00.000Z' },
    });
    await bench.clock.advance(TERM_MS + 1_000);
    expect(runtimes(bench)).toEqual([]);
  });

  it('are renewed when asked, and the life with them', async () => {
    const bench = await workerFixture();
    await bench.spawn(A, 1, { ttl: '1m' });
    const renew = (generation: number, more = {}) =>
      bench.call('worker.renew_lease', { resource_id: A, ttl: '90s', ...more }, bench.lease(A, generation));
    const { status, answer } = await renew(1, { sandbox_ttl: '5m' });
    expect([status, answer.result]).toEqual([200, { lease: bench.lease(A, 2) }]);
    expect((await renew(1)).status).toBe(403);
    await bench.clock.advance(240_000);
    expect(runtimes(bench)).toEqual([A]);
    await bench.clock.advance(70_000);
    expect(runtimes(bench)).toEqual([]);
    expect((await renew(99)).status).toBe(404);
  });

  // A full disk of the database, for example, is not a limit of the worker.
  it.each([
    ['conflict', 409],
    ['resource_limit', 503],
    ['unavailable', 503],
  ] as const)('are refused when the control plane does: %s', async (code, expected) => {
    const bench = await workerFixture();
    await bench.spawn(A);
    bench.link.renewing = () => Promise.reject(new ServiceError(code, 'it says no'));
    const { status } = await bench.call(
      'worker.renew_lease',
      { resource_id: A, ttl: '90s' },
      bench.lease(A, 1),
    );
    expect(status).toBe(expected);
  });
});

describe('a worker that was killed', () => {
  it('takes over what it was given, and removes what it was not', async () => {
    const bench = await workerFixture();
    await bench.spawn(A, 3);
    bench.provider.plant(B, 1);
    await bench.restart();
    expect(runtimes(bench)).toEqual([A]);
    expect((await bench.spawn(A, 2)).status).toBe(403);
    expect((await bench.spawn(A, 3)).status).toBe(200);
    expect(bench.provider.made).toEqual([`${A} 3`]);
  });

  it('renews at once what it took over', async () => {
    const bench = await workerFixture();
    await bench.spawn(A);
    await bench.restart();
    await bench.clock.advance(1_000);
    expect(bench.link.renewed).toHaveLength(1);
  });

  it('mid-spawn ends what it had begun, and refuses to begin it again', async () => {
    const bench = await workerFixture();
    await bench.parts.sandboxes.note(A, {
      provider: 'userspace',
      epoch: 2,
      generation: 2,
      state: 'starting',
    });
    bench.provider.plant(A, 2);
    await bench.restart();
    expect(runtimes(bench)).toEqual([]);
    expect((await bench.spawn(A, 2)).status).toBe(403);
    expect(await state(bench, A)).toBe('gone');
  });

  it('removes what it can, whichever of them cannot be removed', async () => {
    const bench = await workerFixture();
    const { destroy: really } = bench.provider;
    bench.provider.plant(A, 1);
    bench.provider.plant(B, 1);
    bench.provider.destroy = (given, signal) =>
      given.id === A ? Promise.reject(new ServiceError('unavailable', 'not now')) : really(given, signal);
    await bench.restart();
    expect(runtimes(bench)).toEqual([A]);
  });

  it('removes a runtime of an older attempt', async () => {
    const bench = await workerFixture();
    await bench.spawn(A, 4);
    bench.provider.plant(A, 3);
    await bench.restart();
    expect([...bench.provider.runtimes.values()].map(({ epoch }) => epoch)).toEqual([4]);
  });

  it('for longer than a lease ends what it held, whatever the wall clock says meanwhile', async () => {
    const bench = await workerFixture();
    bench.link.renewing = () => Promise.reject(new ServiceError('unavailable', 'nobody'));
    await bench.spawn(A);
    await bench.spawn(B);
    bench.clock.jump(TERM_MS + 1);
    await bench.restart();
    await bench.clock.advance(1_000);
    expect(runtimes(bench)).toEqual([]);
    await bench.spawn(A, 2);
    bench.clock.jump(-7_200_000);
    await bench.restart();
    await bench.clock.advance(TERM_MS + 1_000);
    expect(runtimes(bench)).toEqual([]);
  });

  it('says that a runtime which is gone is gone', async () => {
    const bench = await workerFixture();
    await bench.spawn(A);
    bench.provider.runtimes.clear();
    await bench.restart();
    expect(await state(bench, A)).toBe('gone');
    expect(bench.parts.sandboxes.living()).toHaveLength(1);
    await bench.clock.advance(1000);
    expect(bench.parts.sandboxes.living()).toEqual([]);
  });

  it('remembers for a day what it ended', async () => {
    const bench = await workerFixture();
    await bench.spawn(A, 1);
    await destroy(bench, A, 1);
    await bench.restart();
    expect(bench.parts.sandboxes.find(A)?.record.state).toBe('ended');
    await bench.clock.advance(24 * 3_600_000 + 60_000);
    expect(bench.parts.sandboxes.find(A)).toBeUndefined();
    await bench.restart();
    expect(bench.parts.sandboxes.find(A)).toBeUndefined();
  });
});

it('its journal is held by one worker alone', async () => {
  const bench = await workerFixture();
  await expect(bench.twin()).rejects.toMatchObject({ code: 'conflict' });
});
