// One round: clients are in the middle of their work in a sandbox on each worker, then a fault comes to each worker, or to the
// server. Findings are empty where all is well.
import { setTimeout as pause } from 'node:timers/promises';
import { seededRandom } from '../../test/support/fakes/ports.ts';
import { until } from '../../test/support/until.ts';
import type { Ground, WorkerName } from './ground.ts';
import { WORKS, type Work } from './works.ts';

interface Fault {
  /** It is shorter than anything waits: no call has to end. */
  isShort?: boolean;
  /** How long the clients' commands go on at least: beyond the fault. */
  seconds: number;
  /** Resolves when it is over. `ended`: the calls of clients that the fault must end have ended. */
  run(ground: Ground, worker: WorkerName, ended: Promise<unknown>): Promise<void>;
}

/** An agent that answers no pings is given up after 30 s (docs/design/worker-sessions.md); the rest is for a busy machine. */
const SILENCE_MS = 30_000 + 15_000;
/** A sandbox answers again this long after the end of its fault, and everything agrees. */
const BACK_MS = 30_000;

/** From `begin` until the calls have ended, which must be soon. */
const lasting = (begin: (ground: Ground, worker: WorkerName, isOn: boolean) => unknown): Fault => ({
  seconds: 60,
  run: async (ground, worker, ended) => {
    begin(ground, worker, true);
    await Promise.race([ended, pause(SILENCE_MS)]);
    begin(ground, worker, false);
  },
});

export const FAULTS = {
  'worker frozen': lasting((ground, worker, isOn) => ground.host(worker).freeze(isOn)),
  'network cut': lasting((ground, worker, isOn) => ground.host(worker).cable(!isOn)),
  // As a firewall does: what was open stays lost, what is opened anew gets through.
  'connections forgotten': lasting((ground, worker, isOn) => isOn && ground.host(worker).forget(true)),
  'worker killed': {
    seconds: 15,
    run: async (ground, worker) => {
      await ground.host(worker).end('SIGKILL');
      await ground.host(worker).start();
    },
  },
  'worker restarted': {
    seconds: 15,
    run: async (ground, worker) => {
      await ground.host(worker).end('SIGTERM');
      await ground.host(worker).start();
    },
  },
  'network cut for a moment': {
    isShort: true,
    seconds: 15,
    run: async (ground, worker) => {
      ground.host(worker).cable(false);
      await pause(4000);
      ground.host(worker).cable(true);
    },
  },
  'server killed': {
    seconds: 15,
    run: async (ground) => {
      await ground.server.kill();
      await ground.serve();
    },
  },
} satisfies Record<string, Fault>;
export type FaultName = keyof typeof FAULTS;

export interface Round {
  /** The fault of each worker; one name is the server's. */
  faults: Partial<Record<WorkerName, FaultName>>;
  seed: number;
}

/** What must not be, as sentences. */
export interface Findings {
  /** Calls that did not end in time, and sandboxes that did not answer again. */
  late: string[];
  /** Output that is cut or doubled, commands that ran twice, files that are not what was confirmed. */
  untrue: string[];
  /** Rows, leases, journals and processes that do not agree. */
  unsettled: string[];
}

export interface Outcome extends Findings {
  fault: FaultName;
  /** Calls that were in progress. */
  calls: number;
}

export async function tryRound(ground: Ground, { faults, seed }: Round): Promise<Outcome[]> {
  const random = seededRandom(seed);
  const ids = await ground.spawnEach();
  const trials = Object.entries(faults).map(([worker, fault]) =>
    tryFault(ground, {
      ...{ fault, worker: worker as WorkerName, id: ids.get(worker as WorkerName) ?? '' },
      ...{ seed: random.bytes(4).readUInt32LE(), pauseMs: random.bytes(2).readUInt16LE() % 2000 },
    }),
  );
  const outcomes = await Promise.all(trials);
  for (const host of ground.hosts.values()) host.forget(false);
  for (const id of ids.values()) await ground.client.destroy(id).catch(() => undefined);
  let rest: string[] = [];
  const agree = () => {
    rest = ground.disagreements();
    return rest.length === 0;
  };
  await until('all to agree', agree, BACK_MS * 3).catch(() => undefined);
  for (const outcome of outcomes) outcome.unsettled.push(...rest);
  return outcomes;
}

interface Trial {
  fault: FaultName;
  worker: WorkerName;
  id: string;
  seed: number;
  pauseMs: number;
}

async function tryFault(ground: Ground, { fault, worker, id, seed, pauseMs }: Trial): Promise<Outcome> {
  const { run, seconds, isShort = false }: Fault = FAULTS[fault];
  const works = Object.values(WORKS).map((begin) => begin({ ground, worker, id, seed, seconds }));
  await Promise.all(works.map(({ begun }) => begun));
  await pause(pauseMs);
  const early = works.filter((work) => work.failure() !== undefined);
  const began = performance.now();
  const late = isShort ? [] : works.map((work) => lateness(work, began));
  const lasts = run(ground, worker, Promise.all(works.map(({ over }) => over)));
  const found: Findings = { late: (await Promise.all(late)).flat(), untrue: [], unsettled: [] };
  for (const work of early) found.untrue.push(`${work.name} failed before the fault with ${work.failure()}`);
  await lasts;
  if (isShort) for (const work of works) work.leave();
  const lifted = performance.now();
  const isBack = async () => (await ground.client.exec(id, { command: 'echo up' })).stdout === 'up\n';
  try {
    await until('the sandbox to answer', () => isBack().catch(() => false), BACK_MS);
  } catch {
    found.late.push(
      `the sandbox does not answer ${Math.round(performance.now() - lifted)} ms after the fault`,
    );
  }
  for (const work of works)
    found.untrue.push(...(await work.wrong().catch((error: unknown) => [`${work.name}: ${String(error)}`])));
  return { fault, calls: works.length, ...found };
}

/** Its call has to end within the silence rule, or by itself. */
async function lateness({ name, over }: Work, began: number): Promise<string[]> {
  const isOver = await Promise.race([over.then(() => true), pause(2 * SILENCE_MS).then(() => false)]);
  const ms = Math.round(performance.now() - began);
  if (isOver && ms <= SILENCE_MS) return [];
  return [`${name} ended ${isOver ? `${ms} ms` : 'never'} after the fault`];
}
