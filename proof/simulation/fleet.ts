// Three workers as they are, over fake providers and journals in memory, and the lines between them and a control plane: cut
// one way or both, with answers that get lost and calls that arrive minutes late.
import { Sessions } from '../../src/agent/sessions.ts';
import { ServiceError } from '../../src/domain/errors.ts';
import { guard } from '../../src/providers/guard.ts';
import type { Provider, RemoteWorker } from '../../src/providers/provider.ts';
import { providerSet } from '../../src/providers/registry.ts';
import type { WorkerCall } from '../../src/providers/remote/call.ts';
import { workerProvider } from '../../src/providers/remote/worker-provider.ts';
import type { ProviderKind } from '../../src/schema/provider.ts';
import type { WorkerJournal, WorkerSandboxRecord } from '../../src/store/seam/worker-journal.ts';
import { workerCredential } from '../../src/worker/credential.ts';
import { Draining } from '../../src/worker/draining.ts';
import { heartbeats } from '../../src/worker/heartbeats.ts';
import { answerRpc } from '../../src/worker/rpc.ts';
import { sweep } from '../../src/worker/sweep.ts';
import { watchHeld } from '../../src/worker/watch.ts';
import type { WorkerParts } from '../../src/worker/worker-parts.ts';
import { WorkerSandboxes } from '../../src/worker/worker-sandboxes.ts';
import { type FakeProvider, fakeProvider } from '../../test/support/fakes/provider.ts';
import type { World } from '../../test/support/servers/control.ts';

export const WORKER_TOKENS = { w1: '1'.repeat(40), w2: '2'.repeat(40), w3: '3'.repeat(40) };
type WorkerName = keyof typeof WORKER_TOKENS;

const TERM_MS = 120_000;
const LATEST_MS = 200_000;

/** What becomes of one call: it passes, its answer is lost, or it arrives when nobody waits for it any more. */
export type Fate = 'pass' | 'lost' | 'late';

export class SimulatedWorker {
  readonly id: WorkerName;
  readonly provider: FakeProvider;
  /** Calls that do not arrive: those to it, those from it. */
  readonly cut = { to: false, from: false };
  /** The difference of its wall clock from the control plane's. */
  skewMs = 0;
  /** The fault of the next call. */
  fate: () => Fate = () => 'pass';
  readonly #world: World;
  readonly #journal = new Map<string, WorkerSandboxRecord>();
  #parts: WorkerParts | undefined;
  #die: () => void = () => undefined;

  constructor(world: World, id: WorkerName) {
    this.#world = world;
    this.id = id;
    this.provider = fakeProvider(world);
  }

  /** Sandboxes that its journal says have not ended. */
  held(): string[] {
    return [...this.#journal.values()].filter(({ state }) => state !== 'ended').map((one) => one.sandbox_id);
  }

  /** As after a kill: operations in flight stop where they are. */
  async restart(): Promise<void> {
    this.#die();
    this.#parts = undefined;
    let isDead = false;
    const { clock, ids, random, logger } = this.#world;
    const mortal = <T extends object>(part: T): T => cutOff(part, () => isDead);
    const now = () => clock.now() + this.skewMs;
    const own = {
      ...clock,
      now,
      after: (ms: number, run: () => void) => clock.after(ms, () => isDead || run()),
    };
    const held = new WorkerSandboxes({ journal: mortal(this.#book()), clock: own, termMs: TERM_MS });
    await held.load();
    const parts: WorkerParts = {
      ...{
        id: this.id,
        sandboxes: held,
        link: mortal(this.#link()),
        clock: own,
        logger,
        draining: new Draining(),
      },
      credential: workerCredential({ worker_tokens: WORKER_TOKENS }, this.id, { clock: own, ids }),
      providers: providerSet([guard(mortal(this.provider), { clock: own, logger })]),
      maxSandboxes: 0,
      sessions: new Sessions({
        clock: own,
        attach: (runtime, signal) => this.provider.attach(runtime, signal),
      }),
      sessionsAllowed: true,
    };
    await sweep(parts);
    const capacity = { max_sandboxes: 0, memory_mb: 0, vcpus: 4 };
    const facts = {
      hostname: this.id,
      version: '0.0.0',
      capacity,
      labels: {},
      rpcUrl: `http://${this.id}:7424`,
    };
    const beats = heartbeats({ parts, facts, intervalMs: 30_000, random });
    const watch = watchHeld(parts);
    beats.start();
    this.#parts = parts;
    this.#die = () => {
      isDead = true;
      beats.stop();
      void watch.stop();
    };
  }

  /** A call of the control plane. */
  async call<T>({ method, params, lease, signal }: WorkerCall): Promise<T> {
    const { answer } = await this.#pass(this.cut.to, async () => {
      if (!this.#parts) throw unreached();
      const request = { id: 'call', method, worker_id: this.id, params, ...(lease && { lease }) };
      return answerRpc(this.#parts, request, { requestId: 'r', signal });
    });
    if (answer.error) throw new ServiceError(answer.error.code, answer.error.message);
    return answer.result as T;
  }

  #link(): WorkerParts['link'] {
    const identity = { worker_id: this.id, secret: WORKER_TOKENS[this.id], scopes: [] };
    const { control } = { control: () => this.#world.control.workers };
    return {
      heartbeat: (body) => this.#pass(this.cut.from, () => control().heartbeat(this.id, body, identity)),
      renew: ({ resource_id, ttl }) =>
        this.#pass(this.cut.from, () => control().renew(identity, resource_id, ttl)),
    };
  }

  async #pass<T>(isCut: boolean, deed: () => Promise<T>): Promise<T> {
    if (isCut) throw unreached();
    const fate = this.fate();
    if (fate === 'late') {
      const ms = this.#world.random.bytes(4).readUInt32LE() % LATEST_MS;
      this.#world.clock.after(ms, () => void deed().catch(() => undefined));
      throw unreached();
    }
    const done = await deed();
    if (fate === 'lost') throw unreached();
    return done;
  }

  #book(): WorkerJournal {
    const journal = this.#journal;
    return {
      all: async () => [...journal.values()],
      put: async (record: WorkerSandboxRecord) => void journal.set(record.sandbox_id, record),
      forget: async () => undefined,
      close: async () => undefined,
    } as unknown as WorkerJournal;
  }
}

async function noSession(): Promise<never> {
  throw new ServiceError('unavailable', 'The simulation opens no sessions on workers.');
}

/** Puts the workers behind the control plane of `world`, which is configured with WORKER_TOKENS. */
export function simulatedFleet(world: World): SimulatedWorker[] {
  const workers = (['w1', 'w2', 'w3'] as const).map((id) => new SimulatedWorker(world, id));
  const find = ({ id }: RemoteWorker) => workers.find((each) => each.id === id) as SimulatedWorker;
  const made = new Map<string, Provider>();
  Object.assign(world.remote, {
    of: (to: RemoteWorker, kind: ProviderKind) => {
      const provider =
        made.get(to.id) ??
        guard(
          workerProvider(
            { worker_id: to.id, kind },
            { call: (call) => find(to).call(call), open: noSession },
            world.clock,
          ),
          world,
        );
      made.set(to.id, provider);
      return provider;
    },
    renew: (to: RemoteWorker, lease: WorkerCall['lease'], sandbox_ttl: string, signal: AbortSignal) => {
      const params = { resource_id: lease?.resource_id, ttl: '8760h', sandbox_ttl };
      return find(to).call({ method: 'worker.renew_lease', params, lease, fault: () => undefined, signal });
    },
  });
  return workers;
}

/** Once dead, it answers nothing and touches nothing. */
function cutOff<T extends object>(part: T, isDead: () => boolean): T {
  return new Proxy(part, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function' || name === 'describe') return value;
      return (...args: unknown[]) => (isDead() ? new Promise(() => {}) : Reflect.apply(value, target, args));
    },
  });
}

const unreached = () => new ServiceError('unavailable', 'Nobody can be reached there.');
