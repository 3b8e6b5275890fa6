// Runs the cases of a target, some at once, until their number or their time is over, and gathers what was wrong.
import { type Chance, chanceOf } from './chance.ts';

/** What one case came to. */
export interface Outcome {
  /** Counted in the report: a status, a close code, a verdict. */
  kind: string;
  /** What was wrong with it. */
  fault?: string | undefined;
  /** The number of cases in one that contains several. */
  inputs?: number;
}

export interface OpenTarget {
  /** One case, made from `chance` alone. Rejects for a fault of its own, too. */
  one(chance: Chance): Promise<Outcome>;
  /** The fault of the target after the cases, if any. */
  verdict?(): Promise<string | undefined>;
  close(): Promise<void>;
}

export interface Target {
  /** Cases at once. */
  width: number;
  open(): Promise<OpenTarget>;
}

export interface Limits {
  seed: number;
  runs: number;
  minutes?: number;
  /** Called with each fault. */
  told?: (fault: Fault) => void;
}

export interface Fault {
  /** `--seed` of this number with `--runs 1` makes the case again. */
  seed: number;
  said: string;
}

export interface FuzzReport {
  target: string;
  seed: number;
  cases: number;
  /** Hostile inputs in these cases. */
  inputs: number;
  seconds: number;
  slowest_ms: number;
  outcomes: Record<string, number>;
  faults: Fault[];
}

/** After so many the rest would say the same. */
const MOST_FAULTS = 25;
/** The limit for one case on a busy machine; nothing in the service waits longer. */
const HANGS_MS = 60_000;

export async function campaign(name: string, target: Target, limits: Limits): Promise<FuzzReport> {
  const { seed, runs, minutes } = limits;
  const began = performance.now();
  const report: FuzzReport = {
    ...{ target: name, seed, cases: 0, inputs: 0, seconds: 0, slowest_ms: 0, outcomes: {}, faults: [] },
  };
  const found = (fault: Fault) => {
    report.faults.push(fault);
    limits.told?.(fault);
  };
  const isOver = () =>
    report.faults.length >= MOST_FAULTS ||
    (minutes === undefined
      ? report.cases >= runs
      : performance.now() - began > minutes * 60_000 && report.cases > 0);
  const opened = await target.open();
  const worker = async () => {
    while (!isOver()) await take(opened, seed + report.cases++, report, found);
  };
  try {
    await Promise.all(Array.from({ length: target.width }, worker));
    const said = await opened.verdict?.().catch(String);
    if (said !== undefined) found({ seed, said });
  } finally {
    await opened.close();
  }
  report.seconds = Math.round((performance.now() - began) / 100) / 10;
  report.slowest_ms = Math.round(report.slowest_ms);
  return report;
}

async function take(
  opened: OpenTarget,
  seed: number,
  report: FuzzReport,
  found: (fault: Fault) => void,
): Promise<void> {
  const began = performance.now();
  const { kind, fault, inputs = 1 } = await ended(opened.one(chanceOf(seed)));
  report.slowest_ms = Math.max(report.slowest_ms, performance.now() - began);
  report.inputs += inputs;
  report.outcomes[kind] = (report.outcomes[kind] ?? 0) + 1;
  if (fault !== undefined) found({ seed, said: fault });
}

async function ended(one: Promise<Outcome>): Promise<Outcome> {
  let timer: NodeJS.Timeout | undefined;
  const hangs = new Promise<Outcome>((resolve) => {
    timer = setTimeout(() => resolve({ kind: 'hangs', fault: `no end within ${HANGS_MS} ms` }), HANGS_MS);
  });
  const failed = (error: unknown): Outcome => ({ kind: 'failed', fault: String(error) });
  try {
    return await Promise.race([one.catch(failed), hangs]);
  } finally {
    clearTimeout(timer);
  }
}
