// A doctor's report as SARIF 2.1.0: each check that was made is a rule, each that failed or warns a result.
import type { CheckResult, DoctorReport } from '../../schema/doctor.ts';
import { type Json, type SarifMaker, sarifFrame } from '../sarif.ts';
import { CONFIGURATION } from './checks/configuration.ts';

const LEVELS = { fail: 'error', warn: 'warning', pass: 'note', skip: 'none' } as const;

/** One log with one run. */
export function doctorSarif({ groups }: DoctorReport, maker: SarifMaker): Json {
  const checks = groups.flatMap((group) => group.checks.map((check) => ({ group: group.id, check })));
  const results = checks.flatMap(({ check }, ruleIndex) =>
    check.verdict === 'fail' || check.verdict === 'warn' ? [resultOf(check, ruleIndex)] : [],
  );
  const loads = `${CONFIGURATION.id}.${CONFIGURATION.checks[0]?.name}`;
  const isComplete = !checks.some(({ check }) => check.id === loads && check.verdict === 'fail');
  const rules = checks.map(({ group, check }) => descriptor(check, group, maker.docs));
  return sarifFrame({ name: 'svc doctor', rules, results, isComplete }, maker);
}

/** `fix` is what to do where it is not as it should be. */
function descriptor({ id, title, verdict, fix }: CheckResult, group: string, docs: string): Json {
  return {
    id,
    shortDescription: { text: title },
    helpUri: `${docs}doctor.md#${group.replace(/^probe_.*/, 'probe')}`,
    ...(fix !== undefined && { help: { text: fix } }),
    defaultConfiguration: { level: LEVELS[verdict] },
  };
}

function resultOf({ id, verdict, message, fix }: CheckResult, ruleIndex: number): Json {
  return {
    ruleId: id,
    ruleIndex,
    level: LEVELS[verdict],
    message: { text: fix === undefined ? message : `${message} ${fix}` },
    locations: [{ logicalLocations: [{ fullyQualifiedName: id, kind: 'resource' }] }],
    partialFingerprints: { check: id },
  };
}
