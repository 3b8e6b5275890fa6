// A provider that works, in memory: it outlives the control planes of a test as real runtimes outlive a server.
import { ServiceError } from '../../../src/domain/errors.ts';
import type { Clock } from '../../../src/domain/ports.ts';
import type { Provider, RuntimeEvent, RuntimeRef } from '../../../src/providers/provider.ts';
import { type FakeInside, type FakeIo, type FakeProgram, fakeIo } from './io.ts';

export interface FakeRuntime extends FakeInside {
  runtime_id: string;
  id: string;
  epoch: number;
  state: 'running' | 'stopped';
  created_at: string;
  sessions: Set<FakeIo>;
  /** The monotonic time at which it was made to end by itself. */
  deadline?: number | undefined;
}

export interface FakeProvider extends Provider {
  /** What there is, by runtime_id. */
  readonly runtimes: Map<string, FakeRuntime>;
  /** What each runtime made from now on can run, by command line. */
  readonly programs: Map<string, FakeProgram>;
  /** Every create that made a runtime, as `id epoch`. */
  readonly made: string[];
  /** The runtime of a sandbox; throws when there is none. */
  of(id: string): FakeRuntime;
  /** Puts one there that nobody asked for. */
  plant(id: string, epoch?: number): FakeRuntime;
  /** Dies behind everybody's back, without news of it: `stopped`, its sessions over. */
  crash(id: string): void;
  /** News to whoever watches, true or not; how many heard it. */
  tell(event: Pick<RuntimeEvent, 'id'> & Partial<RuntimeEvent>): number;
  /** The source of news is lost to all who watch; opened again it fails while `fails` says so. */
  lose(fails?: () => boolean): void;
}

export function fakeProvider({ clock }: { clock: Clock }): FakeProvider {
  const runtimes = new Map<string, FakeRuntime>();
  const made: string[] = [];
  const programs = new Map<string, FakeProgram>();
  const watchers = new Set<{ heard: (event: RuntimeEvent) => void; lost: () => void }>();
  let count = 0;
  let failing = () => false;
  const find = ({ id, epoch, runtime_id }: RuntimeRef) =>
    [...runtimes.values()].find((one) =>
      runtime_id === undefined ? one.id === id && one.epoch === epoch : one.runtime_id === runtime_id,
    );
  const plant: FakeProvider['plant'] = (id, epoch = 1) => {
    const runtime: FakeRuntime = {
      ...{ runtime_id: `rt-${++count}`, id, epoch, state: 'running', sessions: new Set(), answers: true },
      ...{ tenants: new Set(), everTenants: [] },
      ...{ created_at: new Date(clock.now()).toISOString(), files: new Map(), programs: new Map(programs) },
    };
    runtimes.set(runtime.runtime_id, runtime);
    return runtime;
  };
  const end = (runtime: FakeRuntime) => {
    for (const io of runtime.sessions) io.die();
  };
  return {
    kind: 'userspace',
    hostsPools: true,
    capabilities: ['exec', 'stream', 'files', 'network_none', 'connect'],
    runtimes,
    programs,
    made,
    plant,
    of: (id) => [...runtimes.values()].find((one) => one.id === id) ?? fail(`no runtime of ${id}`),
    crash: (id) => {
      for (const runtime of runtimes.values())
        if (runtime.id === id) end(Object.assign(runtime, { state: 'stopped' }));
    },
    tell: (event) => {
      const whole = { runtime_id: 'rt-1', epoch: 1, what: 'ended', ...event } as const;
      for (const { heard } of watchers) heard(whole);
      return watchers.size;
    },
    lose: (fails = () => false) => {
      failing = fails;
      for (const { lost } of [...watchers]) lost();
    },
    watch: (heard, signal) =>
      new Promise((resolve, reject) => {
        if (failing()) return reject(new Error('no news'));
        const over = (settle: () => void) => {
          watchers.delete(watcher);
          settle();
        };
        const watcher = { heard, lost: () => over(() => reject(new Error('the news are lost'))) };
        watchers.add(watcher);
        signal.addEventListener('abort', () => over(resolve), { once: true });
      }),
    describe: () => ({ isolation: { filesystem: 'none' }, images: ['host'] }),
    probe: async () => ({ healthy: true, findings: [] }),
    create: async (spec) => {
      made.push(`${spec.id} ${spec.epoch}`);
      const runtime = Object.assign(plant(spec.id, spec.epoch), { deadline: spec.deadline });
      const { runtime_id } = runtime;
      return { runtime_id, image: 'host', memory_mb: spec.memory_mb, vcpus: spec.vcpus, warnings: [] };
    },
    inspect: async (ref) => find(ref)?.state ?? 'gone',
    destroy: async (ref) => {
      const runtime = find(ref);
      if (!runtime) return;
      runtimes.delete(runtime.runtime_id);
      end(runtime);
    },
    attach: async (ref) => {
      const runtime = find(ref);
      if (runtime?.state !== 'running' || !runtime.answers)
        throw new ServiceError('unavailable', 'The sandbox does not answer.');
      const io = fakeIo(runtime);
      runtime.sessions.add(io);
      void io.closed.then(() => runtime.sessions.delete(io));
      return io;
    },
    list: async () =>
      [...runtimes.values()].map(({ runtime_id, id, epoch, state, created_at }) => ({
        runtime_id,
        id,
        epoch,
        state,
        created_at,
      })),
    close: async () => {},
  };
}

function fail(message: string): never {
  throw new Error(message);
}
