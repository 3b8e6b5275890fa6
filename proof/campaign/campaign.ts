// The campaign: every step × every action, again and again, on one database that lives through all of it. A line for each
// trial, and its count in proof/results.json.

import { NOTHING, remains, runtimes } from '../../test/support/checks/auditor.ts';
import { readLedger } from '../../test/support/checks/ledger.ts';
import { seededRandom } from '../../test/support/fakes/ports.ts';
import { api } from '../../test/support/servers/api.ts';
import { makeHome, removeHome } from '../../test/support/servers/server.ts';
import { until } from '../../test/support/until.ts';
import { startArmable } from '../failpoints/build.ts';
import { ACTIONS, type Action, type Place, type Step } from '../failpoints/point.ts';
import { record } from '../results.ts';
import type { Finding, Findings } from './audit.ts';
import { emptyJournal } from './journal.ts';
import { type Beside, LIMITS, type Scene, type Setting, scene, stepsOf, warmOf } from './settings.ts';
import { type Ground, type Outcome, type Trial, tryOnce } from './trial.ts';

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
  /** Only freezes and delays, and these beyond most deadlines. */
  isLong?: boolean;
  /** Only trials whose name (`kill after sandboxes.running`) holds one of these; all without them. */
  filters?: readonly string[];
  told: (line: string) => void;
  /** Counts go into proof/results.json. */
  isKept: boolean;
}

export type Tally = Record<Finding | 'trials' | 'survived' | 'missed', number>;

/** Longer than the agent and the engine wait for an answer, shorter than any deadline. */
const SHORT_MS = 1500;
/** Longer than every deadline but those of starting and ending a sandbox. */
const LONG_MS = 20_000;
const LASTING: readonly Action[] = ['freeze', 'delay'];

export async function campaign(options: CampaignOptions): Promise<Tally> {
  const set = await scene(options.setting);
  try {
    return await onGround(set, options);
  } finally {
    await set.clear();
  }
}

async function onGround({ env, image, join }: Scene, options: CampaignOptions): Promise<Tally> {
  const home = makeHome();
  const server = await startArmable({ env, home });
  const what = { journal: emptyJournal(), limits: LIMITS, warm: warmOf(options.setting) };
  const ground: Ground = { home, env, image, server, ...what, isDrained: join !== undefined };
  let worker: Beside | undefined;
  try {
    worker = await join?.(server.url, home);
    if (worker) server.beside = worker.instance;
    await furnish(ground);
    const tally = await tried(ground, options);
    const rest = await cleared(ground, async () => worker?.stop());
    if (rest.length > 0) options.told(`left at the end: ${rest.join('; ')}`);
    tally.counts.runtimes_leaked += rest.length;
    keep(options, tally);
    return tally.counts;
  } finally {
    await worker?.stop();
    await ground.server.stop();
    removeHome(home);
  }
}

/** The template of ready ones, and one whose setup fails. */
async function furnish({ server, image, journal, warm, isDrained }: Ground): Promise<void> {
  const call = api(server.url, { 'x-user-id': 'ann' }).call;
  await call('POST', '/templates', { name: 'warm', image, memory_mb: 64, prewarm: warm });
  await call('POST', '/templates', { name: 'bad', image, setup: ['false'] });
  journal.templates.set('warm', new Set([64]));
  if (!isDrained) return;
  await call('POST', '/admin/workers/local/drain', { drain: true });
  const isThere = async () => (await call<unknown[]>('GET', '/workers')).body.length > 1;
  await until('the heartbeat of the worker', isThere);
}

interface Told {
  counts: Tally;
  reached: Set<Step>;
}

async function tried(ground: Ground, options: CampaignOptions): Promise<Told> {
  const counts: Tally = {
    ...{ trials: 0, survived: 0, missed: 0 },
    ...{ rows_lost: 0, runtimes_leaked: 0, double_spawns: 0, over_admissions: 0, unsettled: 0 },
  };
  const told: Told = { counts, reached: new Set() };
  const deadline = performance.now() + options.minutes * 60_000;
  for (const trial of trials(options)) {
    if (performance.now() > deadline || options.signal?.aborted) break;
    const outcome = await tryOnce(ground, trial);
    options.told(`${trial.seed} ${options.setting}: ${trial.action} ${trial.place}: ${sentence(outcome)}`);
    count(counts, outcome);
    if (outcome !== 'missed') told.reached.add(trial.place.split(' ')[1] as Step);
    keep(options, told);
  }
  return told;
}

function keep({ setting, when, isLong, isKept }: CampaignOptions, { counts, reached }: Told): void {
  if (!isKept) return;
  const { missed: _, ...found } = counts;
  const steps = stepsOf(setting);
  const not_reached = steps.filter((step) => !reached.has(step));
  const facts = { reached: reached.size, steps: steps.length };
  const name = `${setting}, right ${when} a step${isLong ? `, ${LONG_MS / 1000} s long` : ''}`;
  record('points', { name, counts: { ...found, ...facts }, not_reached });
}

/** Each trial has a seed of its own; each round another order. */
function* trials(options: CampaignOptions): Generator<Trial> {
  const { setting, when, runs, seed, filters = [''], isLong = false } = options;
  const actions = isLong ? LASTING : ACTIONS;
  const cells = stepsOf(setting).flatMap((step) =>
    actions.map((action): [Place, Action] => [`${when} ${step}`, action]),
  );
  const wanted = cells.filter(([place, action]) =>
    filters.some((text) => `${action} ${place}`.includes(text)),
  );
  const ms = isLong ? LONG_MS : SHORT_MS;
  for (let round = 0; round < runs; round++) {
    const random = seededRandom(seed + round);
    const order = wanted.map((cell) => ({ cell, at: random.bytes(4).readUInt32LE() }));
    for (const [n, { cell }] of order.sort((a, b) => a.at - b.at).entries())
      yield { place: cell[0], action: cell[1], ms, seed: seed + 1000 * round + n };
  }
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

/** Ends everything; what is left then. `end`: what runs beside the server. */
async function cleared({ server, journal, home }: Ground, end: () => Promise<void>): Promise<string[]> {
  const client = api(server.url, { 'x-user-id': 'ann' });
  await client.call('DELETE', '/templates/warm');
  const owners = new Map(readLedger(home).live.map(({ id, owner_id }) => [id, owner_id]));
  for (const [id, owner] of owners)
    await api(server.url, { 'x-user-id': owner || 'ann' }).call('DELETE', `/sandboxes/${id}`);
  await until('nothing to run', () => runtimes(server).length === 0, 90_000).catch(() => undefined);
  await end();
  await server.stop();
  const ids = [...readLedger(home).all.map(({ id }) => id), ...journal.given.keys()];
  const left = remains(server, ids);
  return (Object.keys(NOTHING) as (keyof typeof NOTHING)[]).flatMap((kind) => left[kind]);
}
