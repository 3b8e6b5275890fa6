// One trial: clients work, the server fails at a point, continues or is restarted, and an audit follows.
import { setTimeout as pause } from 'node:timers/promises';
import { seededRandom } from '../../test/support/fakes/ports.ts';
import { stateOf } from '../../test/support/hosts/process-state.ts';
import { api } from '../../test/support/servers/api.ts';
import type { TestServer } from '../../test/support/servers/server.ts';
import { until } from '../../test/support/until.ts';
import { arm, fired, startArmable } from '../failpoints/build.ts';
import type { Action, Place, Step } from '../failpoints/point.ts';
import { audit, type Findings, isSettled, type Limits } from './audit.ts';
import type { Journal } from './journal.ts';
import { type Client, OPERATIONS, OPERATIONS_FOR, type OperationName } from './operations.ts';

export interface Trial {
  place: Place;
  action: Action;
  /** How long a freeze or a delay lasts. */
  ms: number;
  seed: number;
}

export interface Ground {
  home: string;
  env: Record<string, string>;
  image: string;
  server: TestServer;
  journal: Journal;
  limits: Limits;
  /** Ready ones that there should be. */
  warm: number;
  /** Sandboxes run on a worker alone. */
  isDrained: boolean;
}

/** `missed`: the point was never passed, so that nothing was tried. */
export type Outcome = Findings | 'missed';

const REACHED_MS = 90_000;
/** Two looks of the comparison, and the grace that young runtimes get. */
const SETTLED_MS = 120_000;
const OTHERS = ['cid', 'dan'];
/** A silence takes seconds to be noticed, a lease holds for a while; everything else comes by often. */
const RARE: readonly Step[] = ['sandboxes.unhealthy', 'leases.renew'];
/** Together with the other two there is often no room for prewarmed sandboxes. */
const isOfStock = (step: Step) => step.startsWith('warm.') || step === 'sandboxes.take';
const BYSTANDING: readonly OperationName[] = [
  'spawn',
  'repeat',
  'take',
  'destroy',
  'destroy',
  'use',
  'extend',
];

export async function tryOnce(ground: Ground, { place, action, ms, seed }: Trial): Promise<Outcome> {
  const random = seededRandom(seed);
  const roll = (sides: number) => random.bytes(4).readUInt32LE() % sides;
  const before = fired(ground.server);
  const hasFired = () => fired(ground.server) > before;
  await room(ground);
  const step = place.split(' ')[1] as Step;
  arm(ground.server, { place, action, ms, skip: RARE.includes(step) ? 0 : roll(3) });
  const deadline = performance.now() + REACHED_MS;
  const isOver = () => hasFired() || performance.now() > deadline;
  const others = isOfStock(step) ? OTHERS.slice(1) : OTHERS;
  const clients = ['ann', ...others].map((owner) => ({ ...ground, owner, roll }));
  const work = Promise.all(
    clients.map((client, n) => works(client, n === 0 ? OPERATIONS_FOR[step] : BYSTANDING, isOver)),
  );
  await Promise.all([work, followed(ground.server, { action, ms }, isOver, hasFired)]);
  if (!hasFired()) {
    arm(ground.server, undefined);
    return 'missed';
  }
  if (action === 'kill') {
    const { beside } = ground.server;
    ground.server = await startArmable(ground);
    if (beside !== undefined) ground.server.beside = beside;
  }
  await api(ground.server.url).call('POST', '/admin/workers/local/drain', { drain: ground.isDrained });
  return settled(ground);
}

/** What is wrong when everything has had its time. */
async function settled({ server, journal, limits, warm }: Ground): Promise<Findings> {
  let found: Findings | undefined;
  const isWell = () => {
    if (!isSettled(server, warm, limits)) return false;
    found = audit(server, journal, limits);
    return Object.values(found).every((each) => each.length === 0);
  };
  await until('everything to settle', isWell, SETTLED_MS).catch(() => undefined);
  found ??= audit(server, journal, limits);
  journal.surprises = [];
  return found;
}

/** Runs the operations that lead to the point, or any others, until it is reached; in the given order for the first client. */
async function works(client: Client, deeds: readonly OperationName[], isOver: () => boolean): Promise<void> {
  const isOrdered = deeds !== BYSTANDING;
  for (let n = 0; !isOver(); n++) {
    const deed = deeds[isOrdered ? n % deeds.length : client.roll(deeds.length)] as OperationName;
    // It fails where the server does.
    await OPERATIONS[deed](client).catch(() => pause(20));
  }
}

/** What the action asks of the one who tries: to wait for the end, or to let it go on. */
async function followed(
  { child }: TestServer,
  { action, ms }: Pick<Trial, 'action' | 'ms'>,
  isOver: () => boolean,
  hasFired: () => boolean,
): Promise<void> {
  await until('the trial to be over', isOver, REACHED_MS + 30_000);
  if (!hasFired()) return;
  if (action === 'kill') await until('its end', () => child.signalCode === 'SIGKILL');
  if (action !== 'freeze') return;
  await until('the server to freeze', () => stateOf(child.pid ?? 0) === 'T');
  await pause(ms);
  child.kill('SIGCONT');
}

/** Few are left from trial to trial, so that there is room to work; these live through many. */
async function room({ server, journal }: Ground): Promise<void> {
  for (const owner of ['ann', ...OTHERS]) {
    const own = [...journal.given].filter(([, one]) => one.owner === owner && !one.hasEnded);
    for (const [id, given] of own.slice(1)) {
      given.mayEnd = true;
      const { status } = await api(server.url, { 'x-user-id': owner }).call('DELETE', `/sandboxes/${id}`);
      given.hasEnded = status === 200;
    }
  }
}
