// A worker with everything around it in a test's hands: time, a provider in memory, and a control plane that is told what to
// answer. Its journal is a real one.
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { Sessions } from '../../../src/agent/sessions.ts';
import { ServiceError } from '../../../src/domain/errors.ts';
import { signLease } from '../../../src/domain/lease.ts';
import { providerSet } from '../../../src/providers/registry.ts';
import type { Lease } from '../../../src/schema/lease.ts';
import type { RpcAnswer, RpcMethod, RpcRenewResult } from '../../../src/schema/worker-rpc.ts';
import type { WorkerJournal } from '../../../src/store/seam/worker-journal.ts';
import { openWorkerJournal } from '../../../src/store/sqlite/worker-journal.ts';
import type { ControlLink, HeartbeatAnswer, Renewal } from '../../../src/worker/control-link.ts';
import { workerCredential } from '../../../src/worker/credential.ts';
import { Draining } from '../../../src/worker/draining.ts';
import { answerRpc } from '../../../src/worker/rpc.ts';
import { sweep } from '../../../src/worker/sweep.ts';
import { watchHeld } from '../../../src/worker/watch.ts';
import type { WorkerParts } from '../../../src/worker/worker-parts.ts';
import { WorkerSandboxes } from '../../../src/worker/worker-sandboxes.ts';
import { type FakeClock, fakeClock, fakeIds, seededRandom, silentLogger } from '../fakes/ports.ts';
import { type FakeProvider, fakeProvider } from '../fakes/provider.ts';
import { temporaryFolder } from '../temporary.ts';

export const SECRET = 'the secret of w1';
export const TERM_MS = 90_000;

export interface ScriptedLink extends ControlLink {
  /** What the next renewals get; by default a lease one generation on, for as long as asked. */
  renewing: (what: Renewal) => Promise<RpcRenewResult>;
  answering: () => Promise<HeartbeatAnswer>;
  readonly renewed: Renewal[];
}

export interface WorkerFixture {
  clock: FakeClock;
  provider: FakeProvider;
  link: ScriptedLink;
  parts: WorkerParts;
  /** A lease for `id` of this worker, 90 s long. */
  lease(id: string, generation: number, over?: Partial<Lease>): Lease;
  call(
    method: RpcMethod | string,
    params: object,
    lease?: Lease,
  ): Promise<{ status: number; answer: RpcAnswer }>;
  spawn(id: string, generation?: number, more?: object): Promise<{ status: number; answer: RpcAnswer }>;
  /** `full`: the journal cannot be written. `writes`: what a write waits for. */
  disk: { full: boolean; writes?: Promise<void> | undefined };
  /** As after a kill: what was in memory is gone; the journal, the runtimes and the time are as they are. */
  restart(): Promise<void>;
  /** Stops, and lets another open the journal. */
  release(): Promise<void>;
  /** Opens the journal a second time. */
  twin(): Promise<WorkerJournal>;
}

export async function workerFixture(options: { maxSandboxes?: number } = {}): Promise<WorkerFixture> {
  const clock = fakeClock();
  const provider = fakeProvider({ clock });
  const path = join(temporaryFolder(), 'worker.db');
  const link = scriptedLink(clock);
  let journal: WorkerJournal | undefined;
  let watch: { stop(): Promise<void> } | undefined;
  const disk: WorkerFixture['disk'] = { full: false };
  const bench = { clock, provider, link, disk } as WorkerFixture;
  bench.twin = () => openWorkerJournal({ path, clock, ids: fakeIds(), random: seededRandom() });
  const open = async () => {
    const opened = await bench.twin();
    journal = opened;
    const put: WorkerJournal['put'] = async (record) => {
      if (disk.full) throw new ServiceError('unavailable', 'no space left');
      await disk.writes;
      await opened.put(record);
    };
    const fillable = { all: () => opened.all(), forget: (at: string) => opened.forget(at), put };
    const held = new WorkerSandboxes({ journal: fillable, clock, termMs: TERM_MS });
    await held.load();
    bench.parts = {
      ...{ id: 'w1', sandboxes: held, link, clock, logger: silentLogger, draining: new Draining() },
      credential: workerCredential({ worker_tokens: { w1: SECRET } }, 'w1', { clock, ids: fakeIds() }),
      providers: providerSet([provider]),
      sessions: new Sessions({ clock, attach: (runtime, signal) => provider.attach(runtime, signal) }),
      sessionsAllowed: true,
      maxSandboxes: options.maxSandboxes ?? 0,
    };
    watch = watchHeld(bench.parts);
    await sweep(bench.parts);
  };
  const close = async () => {
    await watch?.stop();
    await journal?.close();
  };
  onTestFinished(close);
  await open();
  bench.lease = (resource_id, generation, over = {}) => {
    const expires_at = new Date(clock.now() + TERM_MS).toISOString();
    return signLease(SECRET, { resource_id, holder_id: 'w1', generation, expires_at, ...over });
  };
  bench.call = (method, params, lease) =>
    answerRpc(
      bench.parts,
      { id: 'call', method, worker_id: 'w1', params, ...(lease && { lease }) },
      { requestId: 'r', signal: new AbortController().signal },
    );
  bench.spawn = (id, generation = 1, more = {}) => {
    const params = { sandbox_id: id, provider: 'userspace', memory_mb: 64, vcpus: 1, ttl: '10m', ...more };
    return bench.call('worker.spawn', params, bench.lease(id, generation));
  };
  bench.release = async () => {
    await close();
    watch = undefined;
    journal = undefined;
  };
  bench.restart = async () => {
    await close();
    await open();
  };
  return bench;
}

function scriptedLink(clock: FakeClock): ScriptedLink {
  const generations = new Map<string, number>();
  const renewed: Renewal[] = [];
  const link: ScriptedLink = {
    renewed,
    renewing: async ({ resource_id }) => {
      const generation = (generations.get(resource_id) ?? 1) + 1;
      generations.set(resource_id, generation);
      const expires_at = new Date(clock.now() + TERM_MS).toISOString();
      return { lease: signLease(SECRET, { resource_id, holder_id: 'w1', generation, expires_at }) };
    },
    answering: async () => ({ id: 'w1', status: 'online', drain: false }),
    heartbeat: () => link.answering(),
    renew: (what) => {
      renewed.push(what);
      return link.renewing(what);
    },
  };
  return link;
}
