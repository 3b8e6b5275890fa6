// The fuzzers one after another: what `npm run fuzz` and the short cases of the tests call.

import type { Counts } from '../kinds.ts';
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

/** What the proof keeps of a report. */
export function counted({ inputs, slowest_ms, faults }: FuzzReport): Counts<'fuzz'> {
  const isCrash = ({ said }: Fault) => /the server has ended|^build\/fuzz/.test(said);
  const isServerFault = ({ said }: Fault) => /^5\d\d /.test(said);
  const [crashes, unexpected_5xx] = [faults.filter(isCrash).length, faults.filter(isServerFault).length];
  const wrong = faults.length - crashes - unexpected_5xx;
  return { trials: inputs, ...{ crashes, unexpected_5xx, wrong, slowest_ms } };
}
