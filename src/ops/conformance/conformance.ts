// `svc provider test custom --conformance`: the rules of the contract as work that somebody else runs in order and shows, and
// the report on it, in the shape of the doctor's.
import { asServiceError, ServiceError } from '../../domain/errors.ts';
import { withinDeadline } from '../../providers/deadline.ts';
import type { CheckResult, DoctorReport, Verdict } from '../../schema/doctor.ts';
import { groupResult, rounded, worst } from '../doctor/check.ts';
import { keepProcessAlive } from '../doctor/keep-process-alive.ts';
import { ConformanceClient, type ConformanceClientDeps, type Rule, type RuleGroup } from './client.ts';
import { COMMANDS, COURSE } from './rules/commands.ts';
import { FILES } from './rules/files.ts';
import { END, REACH, SANDBOXES } from './rules/sandboxes.ts';

const DEADLINE_MS = 20_000;
const CLEANING_MS = 30_000;
const GROUPS: readonly RuleGroup[] = [REACH, SANDBOXES, COMMANDS, FILES, COURSE, END];

export interface ConformanceDeps extends ConformanceClientDeps {
  /** Ends the rule that runs, and leaves the others out. */
  signal: AbortSignal;
}

export interface PlannedRule {
  id: string;
  title: string;
  /** Never rejects. Once. */
  run(): Promise<CheckResult>;
}

export interface ConformancePlan {
  /** To be run one after another. */
  groups: readonly { title: string; checks: readonly PlannedRule[] }[];
  /** What was run so far. Ends every sandbox that was made. */
  finish(): Promise<DoctorReport>;
}

/** Nothing is asked yet. */
export function planConformance(deps: ConformanceDeps): ConformancePlan {
  const { clock } = deps;
  const client = new ConformanceClient(deps);
  const started = clock.monotonic();
  const results = new Map<RuleGroup, CheckResult[]>(GROUPS.map((group) => [group, []]));
  const kept = new Set<string>();
  const run = async (group: RuleGroup, rule: Rule) => {
    const result = await keepProcessAlive(clock, () => judge({ ...deps, client, kept }, group, rule));
    if (result.verdict === 'pass') kept.add(rule.id);
    results.get(group)?.push(result);
    return result;
  };
  return {
    groups: GROUPS.map((group) => ({
      title: group.title,
      checks: group.rules.map((rule) => ({ id: rule.id, title: rule.title, run: () => run(group, rule) })),
    })),
    finish: async () => {
      await keepProcessAlive(clock, () => client.close(AbortSignal.timeout(CLEANING_MS)));
      const groups = [...results].map(([group, checks]) => groupResult(group, checks));
      return { verdict: worst(groups), production: false, ms: rounded(clock.monotonic() - started), groups };
    },
  };
}

interface RuleRun extends ConformanceDeps {
  client: ConformanceClient;
  /** Rules that were kept. */
  kept: ReadonlySet<string>;
}

async function judge(judging: RuleRun, { chapter }: RuleGroup, rule: Rule): Promise<CheckResult> {
  const { clock } = judging;
  const before = clock.monotonic();
  const { verdict, message } = await outcomeOf(judging, rule);
  const isWrong = verdict === 'fail' || verdict === 'warn';
  return {
    id: rule.id,
    title: rule.title,
    verdict,
    message,
    ms: rounded(clock.monotonic() - before),
    ...(isWrong && { fix: `See "${chapter}" in docs/custom-provider.md.` }),
  };
}

async function outcomeOf(
  { client, clock, kept, signal }: RuleRun,
  rule: Rule,
): Promise<{ verdict: Verdict; message: string }> {
  const lacking = rule.needs?.find((id) => !kept.has(id));
  if (signal.aborted) return { verdict: 'skip', message: 'Interrupted.' };
  if (lacking !== undefined) return { verdict: 'skip', message: `The rule ${lacking} did not pass.` };
  const ms = rule.deadlineMs ?? DEADLINE_MS;
  const expired = () => new ServiceError('timeout', `The rule timed out after ${ms / 1000} s.`);
  try {
    const message = await withinDeadline(clock, { ms, expired, signal }, (inner) => rule.look(client, inner));
    return { verdict: 'pass', message };
  } catch (error) {
    if (signal.aborted) return { verdict: 'skip', message: 'Interrupted.' };
    return { verdict: rule.optional ? 'warn' : 'fail', message: asServiceError(error).message };
  }
}
