// The fuzzers one after another: what `npm run fuzz` and the short cases of the tests call.
import { campaign, type Fault, type FuzzReport, type Target } from './campaign.ts';
import { TARGETS } from './targets.ts';

export interface FuzzOptions {
  /** Names of targets; none is all. */
  only: readonly string[];
  seed: number;
  runs: number;
  minutes?: number;
  told?: (target: string, fault: Fault) => void;
}

export async function fuzz({ only, told, ...limits }: FuzzOptions): Promise<FuzzReport[]> {
  const targets: Record<string, Target> = TARGETS;
  const unknown = only.filter((name) => !(name in targets));
  if (unknown.length > 0)
    throw new Error(`No such target: ${unknown}. There are ${Object.keys(targets).join(', ')}.`);
  const reports: FuzzReport[] = [];
  for (const name of only.length > 0 ? only : Object.keys(targets)) {
    const hear = (fault: Fault) => told?.(name, fault);
    reports.push(await campaign(name, targets[name]!, { ...limits, told: hear }));
  }
  return reports;
}
