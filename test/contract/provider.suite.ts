// What every provider promises, whatever makes its runtimes. A suite as a value: a provider's test file calls it with the
// ground it stands on, and adds what only that provider promises.
import { expect, it } from 'vitest';
import type { SandboxIo } from '../../src/agent/io.ts';
import { listeningPorts } from '../../src/control/access/ports.ts';
import type { Provider, RuntimeEvent, RuntimeSpec } from '../../src/providers/provider.ts';
import type { SandboxRecord } from '../../src/store/store.ts';
import { seededRandom } from '../support/fakes/ports.ts';
import { freshId, runInside, soon } from '../support/hosts/userspace.ts';
import { until } from '../support/until.ts';

export interface ProviderGround {
  /** The one under test. The test file closes it, and the others, at the end: they may share a folder. */
  provider: Provider;
  /** A new object over the same instance: what a restarted server has. */
  restarted(): Provider;
  /** Over an instance of its own on the same ground. */
  stranger(): Provider;
  spec(id: string, change?: Partial<RuntimeSpec>): RuntimeSpec;
  /** What is left of these sandboxes, as this host or engine tells it; empty when nothing. */
  left(ids: readonly string[]): Promise<string[]>;
  /** Ends a runtime's first process behind the provider's back. */
  kill(runtime_id: string): Promise<void>;
  /** Stops its processes, which stay. */
  freeze(runtime_id: string): Promise<void>;
}

/** What a provider does not promise, or how. */
export interface Promises {
  /** Moments in the making of a runtime, in ms. */
  moments: readonly number[];
  /** What makes runtimes may finish one after its create was given up; the label finds it. */
  outlasts: boolean;
  /** It tells of ends and removals. */
  watches: boolean;
  separatesNetworks: boolean;
  /** Who counts what runtimes use: its host, which may count processes that were ended for memory, or an engine elsewhere. */
  measures: false | 'host' | 'host and oom' | 'engine';
  /** Who ends when the memory is used up. */
  memory: 'the program' | 'the program or its sandbox' | 'nobody';
  /** A worker runs it, which lists nothing to control planes, repeats an answer, and knows attempts by their leases. */
  behindWorker?: boolean;
}

/** What differs behind a worker: a start goes on there after its caller has left. */
export const BEHIND_WORKER = { behindWorker: true, outlasts: true, watches: false } as const;

export function providerContract(promises: Promises, ground: () => ProviderGround): void {
  living(ground);
  if (promises.behindWorker) onWorker(ground);
  else alone(ground);
  making(promises, ground);
  ending(promises, ground);
  if (promises.watches) watching(ground);
  if (promises.separatesNetworks) networks(ground);
  if (promises.measures) measuring(promises, ground);
  // Where there is a kernel whose tables can be read.
  if (promises.measures) listening(ground);
  if (promises.memory !== 'nobody') memory(promises.memory, promises, ground);
}

interface Running {
  id: string;
  runtime_id: string;
  io(): Promise<SandboxIo>;
}

/** `use` with one runtime, which is gone afterwards whatever happened. */
async function withRuntime(
  { provider, spec, left }: ProviderGround,
  use: (runtime: Running) => Promise<void>,
  change: Partial<RuntimeSpec> = {},
): Promise<void> {
  const id = freshId();
  try {
    const { runtime_id } = await provider.create(spec(id, change), soon());
    await use({ id, runtime_id, io: () => provider.attach({ id, epoch: 1 }, soon()) });
  } finally {
    await provider.destroy({ id, epoch: 1 }, soon());
  }
  expect(await left([id])).toEqual([]);
}

/** A runtime at work. */
function living(ground: () => ProviderGround): void {
  it('reports healthy, also in a second probe', async () => {
    const { provider } = ground();
    // A busy host may take too long over the first.
    await until('it can', async () => (await provider.probe(soon())).healthy, 100_000);
    const report = await provider.probe(soon());
    expect(report).toMatchObject({ healthy: true });
    expect(report.findings.filter(({ message }) => message === '')).toEqual([]);
  });

  it('runs commands and keeps files, and ends the session with the runtime', async () => {
    let session: SandboxIo | undefined;
    await withRuntime(ground(), async ({ io }) => {
      session = await io();
      expect(await runInside(session, ['pwd'])).toMatchObject({ stdout: '/workspace\n', exit_code: 0 });
      await session.files.write('/workspace/a/b', Buffer.alloc(1 << 20, 'x'), {});
      expect((await runInside(session, ['wc', '-c', '/workspace/a/b'])).stdout).toMatch(/^1048576/);
    });
    await session?.closed;
  });
}

/** What it does for the server that has it. */
function alone(ground: () => ProviderGround): void {
  it('finds its runtimes again after a restart, never those of another server', async () => {
    const { provider, restarted, stranger } = ground();
    const [next, other] = [restarted(), stranger()];
    await withRuntime(ground(), async ({ id, runtime_id }) => {
      expect(await next.list(soon())).toMatchObject([{ runtime_id, id, epoch: 1, state: 'running' }]);
      const first = await next.attach({ id, epoch: 1 }, soon());
      expect((await runInside(first, ['echo', 'there'])).stdout).toBe('there\n');
      first.close();
      // What a dead server left in the stream does not confuse the next one.
      const io = await next.attach({ id, epoch: 1 }, soon());
      expect((await runInside(io, ['echo', 'again'])).stdout).toBe('again\n');
      expect(await other.list(soon())).toEqual([]);
      expect(await other.inspect({ id, epoch: 1 }, soon())).toBe('gone');
      await other.destroy({ id, epoch: 1 }, soon());
      expect(await provider.inspect({ id, epoch: 1 }, soon())).toBe('running');
    });
  });

  it('creates an attempt once: a second create is a conflict and changes nothing', async () => {
    const { provider, spec } = ground();
    await withRuntime(ground(), async ({ id }) => {
      await expect(provider.create(spec(id), soon())).rejects.toMatchObject({ code: 'conflict' });
      expect(await provider.inspect({ id, epoch: 1 }, soon())).toBe('running');
    });
  });

  it('destroys the named attempt, once or twice, also without its runtime_id', async () => {
    const { provider } = ground();
    await withRuntime(ground(), async ({ id, runtime_id }) => {
      await provider.destroy({ id, epoch: 2 }, soon());
      expect(await provider.inspect({ id, epoch: 1 }, soon())).toBe('running');
      await provider.destroy({ runtime_id, id, epoch: 1 }, soon());
      expect(await provider.inspect({ id, epoch: 1 }, soon())).toBe('gone');
      await expect(provider.attach({ id, epoch: 1 }, soon())).rejects.toMatchObject({ code: 'unavailable' });
    });
  });
}

/** What it does for control planes behind its worker. */
function onWorker(ground: () => ProviderGround): void {
  it('serves several control planes at a time, and the next one after a restart', async () => {
    const [next, later] = [ground().restarted(), ground().restarted()];
    await withRuntime(ground(), async ({ id, io }) => {
      const sessions = [await io(), await next.attach({ id, epoch: 1 }, soon())];
      const words = sessions.map((session, n) => runInside(session, ['echo', `${n}`]));
      expect((await Promise.all(words)).map(({ stdout }) => stdout)).toEqual(['0\n', '1\n']);
      sessions[0]?.close();
      expect((await runInside(sessions[1] as SandboxIo, ['echo', 'there'])).stdout).toBe('there\n');
      sessions[1]?.close();
      const again = await later.attach({ id, epoch: 1 }, soon());
      expect((await runInside(again, ['echo', 'again'])).stdout).toBe('again\n');
    });
  });

  it('carries streams completely in both directions, also many at a time', async () => {
    await withRuntime(ground(), async ({ io }) => {
      const session = await io();
      const sum = await Promise.all(
        Array.from({ length: 8 }, (_, n) =>
          runInside(session, ['/bin/sh', '-c', `yes ${n}123456789abcde | head -c 4000000`]),
        ),
      );
      for (const [n, { stdout }] of sum.entries())
        expect(stdout === `${n}123456789abcde\n`.repeat(250_000), `stream ${n}`).toBe(true);
      const bytes = seededRandom(11).bytes(6_000_000);
      await session.files.write('/workspace/whole', bytes, {});
      const { content } = await session.files.read('/workspace/whole', { offset: 0 });
      const parts: Buffer[] = [];
      for await (const part of content) parts.push(part as Buffer);
      expect(Buffer.concat(parts).equals(bytes)).toBe(true);
    });
  });

  it('creates an attempt once: a second create repeats the answer', async () => {
    const { provider, spec } = ground();
    await withRuntime(ground(), async ({ id, runtime_id, io }) => {
      const session = await io();
      expect(await provider.create(spec(id), soon())).toMatchObject({ runtime_id });
      expect((await runInside(session, ['echo', 'still'])).stdout).toBe('still\n');
    });
  });

  it('destroys the named runtime, once or twice, and starts none under its lease again', async () => {
    const { provider, spec } = ground();
    await withRuntime(ground(), async ({ id, runtime_id }) => {
      const other = provider.destroy({ runtime_id: `${runtime_id}-other`, id, epoch: 1 }, soon());
      await expect(other).rejects.toMatchObject({ code: 'not_found' });
      expect(await provider.inspect({ runtime_id, id, epoch: 1 }, soon())).toBe('running');
      for (const ref of [
        { runtime_id, id, epoch: 1 },
        { id, epoch: 1 },
      ])
        await provider.destroy(ref, soon());
      expect(await provider.inspect({ id, epoch: 1 }, soon())).toBe('gone');
      await expect(provider.attach({ id, epoch: 1 }, soon())).rejects.toMatchObject({ code: 'not_found' });
      await expect(provider.create(spec(id), soon())).rejects.toMatchObject({ code: 'unavailable' });
    });
  });
}

/** One attempt, one runtime. */
function making({ moments, outlasts }: Promises, ground: () => ProviderGround): void {
  it('leaves nothing behind when aborted at any moment', async () => {
    const { provider, spec, left } = ground();
    const ids: string[] = [];
    for (const ms of moments) {
      const id = freshId();
      ids.push(id);
      const made = await provider.create(spec(id), AbortSignal.timeout(ms)).then(
        () => true,
        () => false,
      );
      if (made || outlasts) await provider.destroy({ id, epoch: 1 }, soon());
      if (!outlasts) expect(await left([id])).toEqual([]);
    }
    await until('all is gone', async () => {
      for (const late of outlasts ? await provider.list(soon()) : []) await provider.destroy(late, soon());
      return (await left(ids)).length === 0 && (await provider.list(soon())).length === 0;
    });
  });
}

/** What becomes of runtimes behind its back. */
function ending({ behindWorker = false }: Promises, ground: () => ProviderGround): void {
  it('destroys a runtime that is frozen', async () => {
    await withRuntime(ground(), ({ runtime_id }) => ground().freeze(runtime_id));
  });

  it('reports a dead runtime as stopped, opens no session with it, and destroys it', async () => {
    const { provider, kill } = ground();
    await withRuntime(ground(), async ({ id, runtime_id, io }) => {
      await kill(runtime_id);
      await until('it is seen', async () => (await provider.inspect({ id, epoch: 1 }, soon())) === 'stopped');
      if (!behindWorker)
        expect(await provider.list(soon())).toMatchObject([{ id, epoch: 1, state: 'stopped' }]);
      await expect(io()).rejects.toMatchObject({ code: 'unavailable' });
    });
  });
}

function watching(ground: () => ProviderGround): void {
  it('reports ends and removals', async () => {
    const { provider, kill } = ground();
    const heard: RuntimeEvent[] = [];
    const stop = new AbortController();
    const over = provider.watch?.((event) => void heard.push(event), stop.signal);
    let ended: RuntimeEvent | undefined;
    await withRuntime(ground(), async ({ id, runtime_id }) => {
      ended = { runtime_id, id, epoch: 1, what: 'ended' };
      await kill(runtime_id);
      await until('the end is told', () => heard.some((event) => event.id === id && event.what === 'ended'));
    });
    const ofIt = () => heard.filter(({ id }) => id === ended?.id);
    await until('the removal is told', () => ofIt().some(({ what }) => what === 'removed'));
    expect(ofIt()[0]).toEqual(ended);
    stop.abort();
    await over;
  });
}

function networks(ground: () => ProviderGround): void {
  it('gives only a loopback network with network: none', async () => {
    const look = ['/bin/sh', '-c', 'tail -n +3 /proc/net/dev'];
    await withRuntime(
      ground(),
      async ({ io }) => {
        const { stdout } = await runInside(await io(), look);
        expect(stdout.match(/^ *\w+(?=:)/gm)?.map((name) => name.trim())).toEqual(['lo']);
      },
      { network: 'none' },
    );
  });
}

function memory(
  who: Exclude<Promises['memory'], 'nobody'>,
  { measures, behindWorker }: Promises,
  ground: () => ProviderGround,
): void {
  const hog = ['/bin/sh', '-c', 'head -c 200000000 /dev/zero | tail -c 199999999 | wc -c'];

  it(`bounds memory: ${who} ends, and the reported state is true`, async () => {
    const { provider } = ground();
    await withRuntime(
      ground(),
      async ({ id, io }) => {
        const session = await io();
        const said = await runInside(session, hog).then(
          ({ stdout }) => stdout,
          ({ code }: { code?: string }) => code,
        );
        expect(said).not.toBe('199999999\n');
        const lives = await session.ping().then(
          () => true,
          () => false,
        );
        if (who === 'the program') expect(lives).toBe(true);
        const state = lives ? 'running' : 'stopped';
        await until(
          `it is ${state}`,
          async () => (await provider.inspect({ id, epoch: 1 }, soon())) === state,
        );
        // What ended by it is counted, also when its counters went with it.
        if (state === 'stopped' && measures === 'engine' && !behindWorker)
          expect((await provider.usage?.([{ id, epoch: 1 }], soon()))?.get(id)?.oom_kills).toBe(1);
      },
      { memory_mb: 64 },
    );
  });
}

const PORT = 8129;
/** Images have one of the two. */
const LISTENS = `command -v python3 >/dev/null || exec busybox nc -l -p ${PORT}
exec python3 -c 'import socket, time; s = socket.create_server(("127.0.0.1", ${PORT})); time.sleep(600)'`;

/** What GET /sandboxes/{id}/ports answers. */
function listening(ground: () => ProviderGround): void {
  it('tells on which ports its programs listen, and no longer when they have ended', async () => {
    await withRuntime(ground(), async ({ io }) => {
      const session = await io();
      const access = {
        use: async <T>(_row: unknown, _signal: unknown, work: (io: SandboxIo) => T) => work(session),
      };
      const ports = async () =>
        (await listeningPorts(access as never, {} as SandboxRecord, soon())).map(({ port }) => port);
      expect(await ports()).not.toContain(PORT);
      const argv = ['/bin/sh', '-c', LISTENS];
      const program = session.exec({
        exec_id: freshId(),
        argv,
        label: 'listens',
        env: {},
        timeoutMs: 60_000,
      });
      await until('it listens', async () => (await ports()).includes(PORT));
      program.kill();
      await program.exit;
      await until('nobody listens', async () => !(await ports()).includes(PORT));
    });
  });
}

/** What it uses, as its host counts it. */
function measuring({ measures, behindWorker = false }: Promises, ground: () => ProviderGround): void {
  const source = measures === 'engine' ? 'engine' : 'host';
  const read = async ({ usage }: Provider, id: string) =>
    (
      await usage?.(
        [
          { id, epoch: 1 },
          { id: freshId(), epoch: 1 },
        ],
        soon(),
      )
    )?.get(id);
  const work = ['/bin/sh', '-c', 'i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done'];

  it('measures by counters that only grow, also after a restart, and nothing that is gone', async () => {
    const { provider, restarted } = ground();
    const next = restarted();
    let ended = '';
    await withRuntime(ground(), async ({ id, io }) => {
      ended = id;
      const session = await io();
      const first = await read(provider, id);
      expect(first).toMatchObject({ source, counter: expect.stringMatching(/./) });
      expect(first?.memory_bytes).toBeGreaterThan(0);
      expect(first?.processes).toBeGreaterThan(0);
      // Before its first command it has started, which took time.
      expect(first?.cpu_us).toBeGreaterThan(0);
      const said = await session.usage?.(soon());
      expect(said?.processes).toBeGreaterThan(0);
      const [disk] = said?.disks ?? [];
      expect(disk?.path).toBe('/');
      expect(disk?.used_bytes).toBeLessThanOrEqual(disk?.total_bytes ?? 0);
      // An engine is asked once a minute at most.
      if (source === 'engine') return;
      await runInside(session, work);
      const second = await read(provider, id);
      expect(second?.counter).toBe(first?.counter);
      expect(second?.cpu_us).toBeGreaterThan((first?.cpu_us ?? 0) + 1000);
      const third = await read(next, id);
      expect(third?.counter).toBe(first?.counter);
      expect(third?.cpu_us).toBeGreaterThanOrEqual(second?.cpu_us ?? 0);
    });
    // A worker keeps the last reading of what it ended.
    if (!behindWorker) expect(await read(next, ended)).toBeUndefined();
    else if (source === 'host') expect((await read(next, ended))?.cpu_us).toBeGreaterThan(0);
  });

  if (measures === 'host and oom')
    it('counts processes that the kernel ended for memory', async () => {
      const { provider, restarted } = ground();
      await withRuntime(
        ground(),
        async ({ id, io }) => {
          expect((await read(provider, id))?.oom_kills).toBe(0);
          await runInside(await io(), ['/bin/sh', '-c', 'tail /dev/zero; true']);
          // Slow files are read at the first reading of an object, and then now and again.
          await until('it is counted', async () => ((await read(restarted(), id))?.oom_kills ?? 0) > 0);
        },
        { memory_mb: 64 },
      );
    });
}
