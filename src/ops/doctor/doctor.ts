// `svc doctor`: the checks that are asked for, as work that somebody else runs in order and shows, and the report on it.
import type { LoadedConfig } from '../../config/load.ts';
import { asServiceError, ServiceError } from '../../domain/errors.ts';
import { withinDeadline } from '../../providers/deadline.ts';
import type { CheckResult, DoctorReport, GroupResult } from '../../schema/doctor.ts';
import {
  type Check,
  type CheckContext,
  type CheckGroup,
  type DoctorDeps,
  type Finding,
  fail,
  groupResult,
  openContext,
  rounded,
  skip,
  worst,
} from './check.ts';
import { CONFIGURATION } from './checks/configuration.ts';
import { groupsFor, type Selection } from './groups.ts';
import { keepProcessAlive } from './keep-process-alive.ts';

const DEADLINE_MS = 5000;

export interface PlannedCheck {
  title: string;
  /** Never rejects. Once. */
  run(): Promise<CheckResult>;
}

export interface PlannedGroup {
  title: string;
  /** To be run one after another: later ones use what earlier ones saw. */
  checks: readonly PlannedCheck[];
}

export interface DoctorPlan {
  groups: readonly PlannedGroup[];
  /** What was run so far. Closes what the checks opened. */
  finish(): Promise<DoctorReport>;
}

/** Nothing runs yet. Throws `bad_request` when `selection` names no check. */
export function planDoctor(deps: DoctorDeps, selection: Selection): DoctorPlan {
  const groups = groupsFor(selection);
  const started = deps.clock.monotonic();
  const session = openSession(deps);
  const results = new Map<CheckGroup, CheckResult[]>(groups.map((group) => [group, []]));
  const planned = groups.map((group) => ({
    title: group.title,
    checks: group.checks.map((check) => ({
      title: check.title,
      run: async () => {
        const result = await keepProcessAlive(deps.clock, () => runCheck(deps, { group, check, session }));
        results.get(group)?.push(result);
        return result;
      },
    })),
  }));
  return {
    groups: planned,
    finish: async () => {
      const { context } = session;
      if (context) await keepProcessAlive(deps.clock, () => cleanup(context, groups));
      const { refusal } = session;
      const found = [...results].map(([group, checks]) => groupResult(group, checks));
      // Whatever was asked for: nothing else could be looked at.
      if (refusal && !found.some(({ verdict }) => verdict === 'fail')) found.unshift(failedLoad(refusal));
      const ms = rounded(deps.clock.monotonic() - started);
      return { verdict: worst(found), production: deps.production, ms, groups: found };
    },
  };
}

/** Leaves nothing open, whatever fails. */
async function cleanup(context: CheckContext, groups: readonly CheckGroup[]): Promise<void> {
  for (const group of groups) await group.finish?.(context).catch(() => undefined);
  await context.close().catch(() => undefined);
}

/** The context, once the configuration is there. */
interface Session {
  loaded?: LoadedConfig;
  context?: CheckContext;
  refusal?: ServiceError;
}

function openSession(deps: DoctorDeps): Session {
  try {
    const loaded = deps.load();
    return { loaded, context: openContext(deps, loaded) };
  } catch (error) {
    return { refusal: asServiceError(error) };
  }
}

interface CheckRun {
  group: CheckGroup;
  check: Check;
  session: Session;
}

async function runCheck(deps: DoctorDeps, { group, check, session }: CheckRun): Promise<CheckResult> {
  const before = deps.clock.monotonic();
  const seen = await observe(deps, { group, check, session });
  const ms = rounded(deps.clock.monotonic() - before);
  return {
    id: `${group.id}.${check.name}`,
    title: check.title,
    verdict: seen.verdict,
    ms,
    ...findingFields(seen),
  };
}

const findingFields = ({ message, remedy }: Finding) => ({
  message,
  ...(remedy !== undefined && { fix: remedy }),
});

async function observe({ clock, signal }: DoctorDeps, { group, check, session }: CheckRun): Promise<Finding> {
  const { context } = session;
  if (signal.aborted) return skip('Interrupted.');
  if (!context)
    return group.id === CONFIGURATION.id
      ? refused(check, session)
      : skip('The configuration could not be loaded.');
  const reason = group.unless?.(context.config);
  if (reason !== undefined) return skip(reason);
  const ms = check.deadlineMs ?? DEADLINE_MS;
  const expired = () => new ServiceError('timeout', `The check timed out after ${ms / 1000} s.`);
  try {
    return await withinDeadline(clock, { ms, expired, signal }, (inner) => check.look(context, inner));
  } catch (error) {
    if (signal.aborted) return skip('Interrupted.');
    const { message, remedy } = asServiceError(error);
    return fail(message, remedy);
  }
}

function failedLoad(refusal: ServiceError): GroupResult {
  const { id, title, checks } = CONFIGURATION;
  const [loads] = checks;
  const result = {
    id: `${id}.${loads?.name}`,
    title: loads?.title ?? title,
    ms: 0,
    ...findingFields(notLoaded(refusal)),
  };
  return groupResult(CONFIGURATION, [{ ...result, verdict: 'fail' }]);
}

function refused(check: Check, { refusal }: Session): Finding {
  return refusal && check === CONFIGURATION.checks[0]
    ? notLoaded(refusal)
    : skip('The configuration could not be loaded.');
}

function notLoaded(refusal: ServiceError): Finding {
  const problems = (refusal.details?.problems ?? []) as { message: string }[];
  const words = problems.map(({ message }) => message).join(' ');
  return fail(words || refusal.message, refusal.remedy);
}
