// `svc doctor`: the checks that are asked for, as work that somebody else runs in order and shows, and the report on it.
import type { LoadedConfig } from '../../config/load.ts';
import { asServiceError, ServiceError } from '../../domain/errors.ts';
import { withinDeadline } from '../../providers/deadline.ts';
import type { CheckResult, DoctorReport, GroupResult, Verdict } from '../../schema/doctor.ts';
import { awake } from './awake.ts';
import { type Check, type CheckGroup, fail, type Observation, skip } from './check.ts';
import { CONFIGURATION } from './checks/configuration.ts';
import { groupsFor, type Selection } from './groups.ts';
import { admit, type DoctorDeps, type Patient } from './patient.ts';

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
  const begun = deps.clock.monotonic();
  const ward = admission(deps);
  const results = new Map<CheckGroup, CheckResult[]>(groups.map((group) => [group, []]));
  const planned = groups.map((group) => ({
    title: group.title,
    checks: group.checks.map((check) => ({
      title: check.title,
      run: async () => {
        const result = await awake(deps.clock, () => examine(deps, { group, check, ward }));
        results.get(group)?.push(result);
        return result;
      },
    })),
  }));
  return {
    groups: planned,
    finish: async () => {
      const { patient } = ward;
      if (patient) await awake(deps.clock, () => discharge(patient, groups));
      const { refusal } = ward;
      const found = [...results].map(([group, checks]) => groupResult(group, checks));
      // Whatever was asked for: nothing else could be looked at.
      if (refusal && !found.some(({ verdict }) => verdict === 'fail')) found.unshift(unread(refusal));
      const ms = rounded(deps.clock.monotonic() - begun);
      return { verdict: worst(found), production: deps.production, ms, groups: found };
    },
  };
}

/** Leaves nothing open, whatever fails on the way. */
async function discharge(patient: Patient, groups: readonly CheckGroup[]): Promise<void> {
  for (const group of groups) await group.finish?.(patient).catch(() => undefined);
  await patient.close().catch(() => undefined);
}

/** The patient, once the configuration is there. */
interface Ward {
  loaded?: LoadedConfig;
  patient?: Patient;
  refusal?: ServiceError;
}

function admission(deps: DoctorDeps): Ward {
  try {
    const loaded = deps.load();
    return { loaded, patient: admit(deps, loaded) };
  } catch (error) {
    return { refusal: asServiceError(error) };
  }
}

interface Examination {
  group: CheckGroup;
  check: Check;
  ward: Ward;
}

async function examine(deps: DoctorDeps, { group, check, ward }: Examination): Promise<CheckResult> {
  const before = deps.clock.monotonic();
  const seen = await observe(deps, { group, check, ward });
  const ms = rounded(deps.clock.monotonic() - before);
  return { id: `${group.id}.${check.name}`, title: check.title, verdict: seen.verdict, ms, ...told(seen) };
}

const told = ({ message, fix }: Observation) => ({ message, ...(fix !== undefined && { fix }) });

async function observe(
  { clock, signal }: DoctorDeps,
  { group, check, ward }: Examination,
): Promise<Observation> {
  const { patient } = ward;
  if (signal.aborted) return skip('Interrupted.');
  if (!patient)
    return group.id === CONFIGURATION.id ? refused(check, ward) : skip('The configuration does not load.');
  const reason = group.unless?.(patient.config);
  if (reason !== undefined) return skip(reason);
  const ms = check.deadlineMs ?? DEADLINE_MS;
  const expired = new ServiceError('timeout', `The check did not end within ${ms / 1000} s.`);
  try {
    return await withinDeadline(clock, { ms, expired, signal }, (inner) => check.look(patient, inner));
  } catch (error) {
    if (signal.aborted) return skip('Interrupted.');
    const { message, remedy } = asServiceError(error);
    return fail(message, remedy);
  }
}

function unread(refusal: ServiceError): GroupResult {
  const { id, title, checks } = CONFIGURATION;
  const [loads] = checks;
  const result = {
    id: `${id}.${loads?.name}`,
    title: loads?.title ?? title,
    ms: 0,
    ...told(notLoaded(refusal)),
  };
  return groupResult(CONFIGURATION, [{ ...result, verdict: 'fail' }]);
}

function refused(check: Check, { refusal }: Ward): Observation {
  return refusal && check === CONFIGURATION.checks[0]
    ? notLoaded(refusal)
    : skip('The configuration does not load.');
}

function notLoaded(refusal: ServiceError): Observation {
  const problems = (refusal.details?.problems ?? []) as { message: string }[];
  const words = problems.map(({ message }) => message).join(' ');
  return fail(words || refusal.message, refusal.remedy);
}

function groupResult({ id, title }: CheckGroup, checks: CheckResult[]): GroupResult {
  const ms = rounded(checks.reduce((sum, check) => sum + check.ms, 0));
  return { id, title, verdict: worst(checks), ms, checks };
}

const ORDER: readonly Verdict[] = ['skip', 'pass', 'warn', 'fail'];

function worst(all: readonly { verdict: Verdict }[]): Verdict {
  const ranks = all.map(({ verdict }) => ORDER.indexOf(verdict));
  return ORDER[Math.max(0, ...ranks)] ?? 'skip';
}

const rounded = (ms: number) => Math.round(ms * 10) / 10;
