// What `svc doctor` reports; `--json` prints exactly this. A group is as bad as the worst of its checks, the report as the
// worst of its groups.
import { type Static, Type } from 'typebox';

export const Verdict = Type.Enum(['pass', 'warn', 'fail', 'skip']);
export type Verdict = Static<typeof Verdict>;

const milliseconds = Type.Number({ minimum: 0 });

export const CheckResult = Type.Object(
  {
    id: Type.String({ description: 'Group and name of the check, such as database.space.' }),
    title: Type.String(),
    verdict: Verdict,
    ms: milliseconds,
    message: Type.String(),
    fix: Type.Optional(Type.String({ description: 'What to do about it, if anything.' })),
  },
  { additionalProperties: false },
);
export type CheckResult = Static<typeof CheckResult>;

export const GroupResult = Type.Object(
  {
    id: Type.String(),
    title: Type.String(),
    verdict: Verdict,
    ms: milliseconds,
    checks: Type.Array(CheckResult),
  },
  { additionalProperties: false },
);
export type GroupResult = Static<typeof GroupResult>;

export const DoctorReport = Type.Object(
  {
    verdict: Verdict,
    production: Type.Boolean(),
    ms: milliseconds,
    groups: Type.Array(GroupResult),
  },
  { additionalProperties: false },
);
export type DoctorReport = Static<typeof DoctorReport>;
