// `npm run proof`: runs the trials of each kind and keeps what they counted. Those of most kinds are tests, which tell what they
// tried; the faults at every step are a campaign of their own.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { campaign } from './campaign/campaign.ts';
import { SETTINGS } from './campaign/settings.ts';
import type { Counts, KindName } from './kinds.ts';
import { replicasCampaign } from './replicas/campaign.ts';
import { record } from './results.ts';
import { sessionsCampaign } from './sessions/campaign.ts';
import { readTally } from './tally.ts';

export interface ProofOptions {
  kinds: string[];
  /** Settings of the campaign; `tests` runs the tests that count for its kind. */
  settings: string[];
  sides: ('before' | 'after')[];
  /** Rounds of every step × action; for kinds that are tests, runs of these. */
  runs: number;
  /** The campaign's time for each setting and side. */
  minutes: number;
  seed: number;
  /** Limits the campaign to freezes and delays beyond most deadlines. */
  isLong: boolean;
  /** Limits campaigns to trials, and other kinds to files of tests, whose names contain one of these. */
  filters?: string[];
  keep: boolean;
  told: (line: string) => void;
}

/** Those of test/fault that some minutes are enough for; the others count as well where SVC_TEST_TALLY is set for them. */
const ENVIRONMENT = [
  ...['backup-under-writes', 'cgroups', 'container-gone', 'database-gone', 'database-kill', 'engine-places'],
  ...['faulty-host', 'full-folders', 'image-store', 'kill', 'limits', 'stalled-readers', 'store-disk-full'],
  ...['store-kill'],
];

/** Files of tests that count for a kind, and their variables. */
const TESTS: Partial<Record<string, { files: string[]; env?: Record<string, string> }>> = {
  points: { files: ['test/fault/points.test.ts'] },
  simulation: {
    files: [
      'test/unit/control/simulation.test.ts',
      'test/unit/control/workers/simulation.test.ts',
      'test/unit/control/workers/replicas.test.ts',
      'test/unit/control/queue/replicas.test.ts',
    ],
    env: { SVC_TEST_SEEDS: '2000', SVC_TEST_FLEET_SEEDS: '500', SVC_TEST_REPLICA_SEEDS: '1000' },
  },
  authorization: { files: ['test/contract/http-access.test.ts', 'test/contract/http-owners.test.ts'] },
  secrets: { files: ['test/e2e/canaries.test.ts'] },
  environment: {
    files: ENVIRONMENT.map((name) => `test/fault/${name}.test.ts`),
    env: { SVC_TEST_IMAGE_KILLS: '50' },
  },
};

/** A run on a busy machine is judged by what it breaks. */
const PATIENT = '--testTimeout=900000';

/** Campaigns on processes that live through all of it. */
const CAMPAIGNS = ['sessions', 'replicas'];

/** The number of things found that must not be. */
export async function prove(root: string, options: ProofOptions): Promise<number> {
  let found = 0;
  for (const kind of options.kinds) {
    const tests = TESTS[kind];
    if (kind === 'points') found += await points(options);
    if (kind === 'sessions') found += await sessions(options);
    if (kind === 'replicas') found += await replicas(options);
    if (CAMPAIGNS.includes(kind) || (kind === 'points' && !options.settings.includes('tests'))) continue;
    if (tests) found += await byTests(root, { ...options, kind: kind as KindName, ...tests });
    else throw new Error(`--only is of ${CAMPAIGNS.join(', ')}, ${Object.keys(TESTS).join(', ')}`);
  }
  return found;
}

/** An interrupt ends the current trial and cancels the rest. */
function interrupted(): AbortSignal {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort());
  return stop.signal;
}

function sessions({ keep, ...options }: ProofOptions): Promise<number> {
  return sessionsCampaign({ ...options, isKept: keep, signal: interrupted() });
}

function replicas({ keep, ...options }: ProofOptions): Promise<number> {
  return replicasCampaign({ ...options, isKept: keep, signal: interrupted() });
}

async function points({ settings, sides, keep, ...options }: ProofOptions): Promise<number> {
  const signal = interrupted();
  let found = 0;
  for (const setting of SETTINGS.filter((one) => settings.includes(one))) {
    for (const when of sides) {
      const tally = await campaign({ ...options, setting, when, isKept: keep, signal });
      options.told(`${setting}, ${when}: ${JSON.stringify(tally)}`);
      found += tally.trials - tally.survived + tally.runtimes_leaked;
    }
  }
  return found;
}

interface TestRuns extends ProofOptions {
  kind: KindName;
  files: string[];
  env?: Record<string, string>;
}

async function byTests(
  root: string,
  { kind, files: all, env, keep, runs, seed, filters, told }: TestRuns,
): Promise<number> {
  const files = all.filter((file) => !filters || filters.some((part) => file.includes(part)));
  if (files.length === 0) throw new Error(`--filter leaves no tests of ${kind}`);
  const folder = mkdtempSync(join(tmpdir(), 'svc-proof-'));
  const [tallies, report] = [join(folder, 'tally'), join(folder, 'report.json')];
  let failed = 0;
  for (let run = 0; run < runs; run++) {
    const given = { ...env, SVC_TEST_TALLY: tallies, SVC_TEST_SEED: String(seed + run * 10_000) };
    const args = [
      'node_modules/vitest/vitest.mjs',
      'run',
      '--reporter=json',
      `--outputFile=${report}`,
      PATIENT,
    ];
    await execa(process.execPath, [...args, ...files], { cwd: root, env: given, reject: false });
    const { numFailedTests } = JSON.parse(readFileSync(report, 'utf8')) as { numFailedTests: number };
    failed += numFailedTests;
    told(`${kind}: run ${run + 1} of ${runs}: ${numFailedTests} tests failed`);
  }
  for (const row of readTally(tallies).filter((one) => one.kind === kind)) {
    told(`${kind}, ${row.name}: ${JSON.stringify(row.counts)}`);
    if (keep) record(kind, { name: row.name, counts: row.counts as Counts<KindName> });
  }
  rmSync(folder, { recursive: true });
  return failed;
}
