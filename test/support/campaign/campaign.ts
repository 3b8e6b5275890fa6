// The campaign: every step × every action, again and again, on one database that lives through all of it. A line for each
// trial, and its count in proof/results.json.
import { api } from '../api.ts';
import { NOTHING, remains, runtimes } from '../auditor.ts';
import { IMAGES, startEngine } from '../engine.ts';
import { startArmable } from '../failpoint-server.ts';
import { ACTIONS, type Action, type Place, STEPS, type Step } from '../failpoints/point.ts';
import { seededRandom } from '../fakes.ts';
import { readLedger } from '../ledger.ts';
import { record } from '../proof/results.ts';
import { makeHome, removeHome } from '../server.ts';
import { until } from '../until.ts';
import type { Finding, Findings } from './audit.ts';
import { emptyJournal } from './journal.ts';
import { type Ground, type Outcome, type Trial, tryOnce } from './trial.ts';

export const SETTINGS = ['userspace', 'userspace pool', 'container'] as const;
export type Setting = (typeof SETTINGS)[number];

export interface CampaignOptions {
  setting: Setting;
  /** On which side of the steps. */
  when: 'before' | 'after';
  /** Rounds of every step × action. */
  runs: number;
  /** It ends after the trial in which they are over, or in which the signal says so. */
  minutes: number;
  signal?: AbortSignal;
  seed: number;
  /** Only trials whose name (`kill after sandboxes.running`) holds one of these; all without them. */
  filters?: readonly string[];
  told: (line: string) => void;
  /** Counts go into proof/results.json. */
  isKept: boolean;
}

export type Tally = Record<Finding | 'trials' | 'survived' | 'missed', number>;

const LIMITS = { cap: 6, own: 3 };
const ENV = {
  SVC_DEFAULTS_MAX_SANDBOXES: String(LIMITS.cap),
  SVC_DEFAULTS_MAX_SANDBOXES_PER_OWNER: String(LIMITS.own),
  SVC_DEFAULTS_SPAWN_OVERFLOW: 'queue',
  SVC_DEFAULTS_SPAWN_QUEUE_TIMEOUT: '5s',
  SVC_PROVIDERS_RECONCILE_INTERVAL: '1s',
};
const USERSPACE = { ...ENV, SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare' };
const POOL = {
  SVC_POOL_ENABLED: 'true',
  SVC_POOL_IMAGE: 'host',
  SVC_POOL_MEMORY_MB: '256',
  SVC_POOL_MAX_VMS: '2',
  SVC_POOL_MAX_USERS_PER_VM: '2',
};

export async function campaign(options: CampaignOptions): Promise<Tally> {
  if (options.setting !== 'container')
    return onGround({ ...USERSPACE, ...(options.setting === 'userspace pool' && POOL) }, 'host', options);
  const engine = await startEngine({ images: ['busybox'] });
  const env = {
    ...ENV,
    SVC_PROVIDERS_DEFAULT: 'container',
    SVC_PROVIDERS_CONTAINER_ENABLED: 'true',
    SVC_PROVIDERS_CONTAINER_SOCKET: engine.socket,
    SVC_DEFAULTS_IMAGE: IMAGES.busybox,
  };
  try {
    return await onGround(env, IMAGES.busybox, options);
  } finally {
    await engine.stop();
  }
}

async function onGround(
  env: Record<string, string>,
  image: string,
  options: CampaignOptions,
): Promise<Tally> {
  const home = makeHome();
  const warm = options.setting === 'userspace pool' ? 0 : 1;
  const server = await startArmable({ env, home });
  const ground: Ground = { home, env, image, server, journal: emptyJournal(), limits: LIMITS, warm };
  try {
    await furnish(ground);
    const tally = await tried(ground, options);
    const rest = await cleared(ground);
    if (rest.length > 0) options.told(`left at the end: ${rest.join('; ')}`);
    tally.runtimes_leaked += rest.length;
    keep(options, tally);
    return tally;
  } finally {
    await ground.server.stop();
    removeHome(home);
  }
}

/** The template of ready ones, and one whose setup fails. */
async function furnish({ server, image, journal, warm }: Ground): Promise<void> {
  const call = api(server.url, { 'x-user-id': 'ann' }).call;
  await call('POST', '/templates', { name: 'warm', image, memory_mb: 64, prewarm: warm });
  await call('POST', '/templates', { name: 'bad', image, setup: ['false'] });
  journal.templates.set('warm', new Set([64]));
}

async function tried(ground: Ground, options: CampaignOptions): Promise<Tally> {
  const tally: Tally = {
    ...{ trials: 0, survived: 0, missed: 0 },
    ...{ rows_lost: 0, runtimes_leaked: 0, double_spawns: 0, over_admissions: 0, unsettled: 0 },
  };
  const deadline = performance.now() + options.minutes * 60_000;
  for (const trial of trials(options)) {
    if (performance.now() > deadline || options.signal?.aborted) break;
    const outcome = await tryOnce(ground, trial);
    options.told(`${trial.seed} ${options.setting}: ${trial.action} ${trial.place}: ${sentence(outcome)}`);
    count(tally, outcome);
    keep(options, tally);
  }
  return tally;
}

function keep({ setting, when, isKept }: CampaignOptions, { missed: _, ...counts }: Tally): void {
  const steps = stepsOf(setting).length;
  if (isKept) record('points', `${setting}, right ${when} a step`, { ...counts, steps });
}

/** Each trial has a seed of its own; each round another order. */
function* trials({ setting, when, runs, seed, filters = [''] }: CampaignOptions): Generator<Trial> {
  const cells = stepsOf(setting).flatMap((step) =>
    ACTIONS.map((action): [Place, Action] => [`${when} ${step}`, action]),
  );
  const wanted = cells.filter(([place, action]) =>
    filters.some((text) => `${action} ${place}`.includes(text)),
  );
  for (let round = 0; round < runs; round++) {
    const random = seededRandom(seed + round);
    const order = wanted.map((cell) => ({ cell, at: random.bytes(4).readUInt32LE() }));
    for (const [n, { cell }] of order.sort((a, b) => a.at - b.at).entries())
      yield { place: cell[0], action: cell[1], seed: seed + 1000 * round + n };
  }
}

/** Steps that are passed with this setting. */
export function stepsOf(setting: Setting): readonly Step[] {
  const isWarm = (step: Step) => step.startsWith('warm.') || step === 'sandboxes.take';
  const isPool = (step: Step) => step.startsWith('pool.');
  const left = setting === 'userspace pool' ? isWarm : isPool;
  return STEPS.filter((step) => !left(step));
}

function sentence(outcome: Outcome): string {
  if (outcome === 'missed') return 'not reached';
  const found = Object.entries(outcome).flatMap(([kind, each]: [string, string[]]) =>
    each.length > 0 ? [`${kind}: ${each.join(', ')}`] : [],
  );
  return found.length > 0 ? `FOUND ${found.join('; ')}` : 'well';
}

function count(tally: Tally, outcome: Outcome): void {
  if (outcome === 'missed') {
    tally.missed++;
    return;
  }
  tally.trials++;
  const kinds = Object.entries(outcome) as [Finding, Findings[Finding]][];
  if (kinds.every(([, found]) => found.length === 0)) tally.survived++;
  for (const [kind, found] of kinds) tally[kind] += found.length > 0 ? 1 : 0;
}

/** Ends everything; what is left then. */
async function cleared({ server, journal, home }: Ground): Promise<string[]> {
  const client = api(server.url, { 'x-user-id': 'ann' });
  await client.call('DELETE', '/templates/warm');
  const owners = new Map(readLedger(home).live.map(({ id, owner_id }) => [id, owner_id]));
  for (const [id, owner] of owners)
    await api(server.url, { 'x-user-id': owner || 'ann' }).call('DELETE', `/sandboxes/${id}`);
  await until('nothing to run', () => runtimes(server).length === 0, 90_000).catch(() => undefined);
  await server.stop();
  const ids = [...readLedger(home).all.map(({ id }) => id), ...journal.given.keys()];
  const left = remains(server, ids);
  return (Object.keys(NOTHING) as (keyof typeof NOTHING)[]).flatMap((kind) => left[kind]);
}
