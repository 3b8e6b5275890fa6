// The report of `svc config lint`; `--json` prints exactly this. Lines and columns count from 1; columns count UTF-16
// units.
import { type Static, Type } from 'typebox';

export const LintLevel = Type.Enum(['error', 'warning']);
export type LintLevel = Static<typeof LintLevel>;

export const LintFinding = Type.Object(
  {
    rule: Type.String({ pattern: '^SVC[0-9]{3}$' }),
    topic: Type.String(),
    level: LintLevel,
    key: Type.String({ description: 'The key to change; empty if the finding concerns the entire file.' }),
    message: Type.String(),
    remedy: Type.String(),
    file: Type.String({ description: 'The file that contains the key.' }),
    line: Type.Integer({ minimum: 1 }),
    column: Type.Integer({ minimum: 1 }),
    end_column: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: 'First column after the key and its value, on the same line.',
      }),
    ),
    source: Type.Optional(Type.String({ description: 'The line up to end_column, secrets masked.' })),
    fingerprint: Type.String({ description: 'Identifies the finding wherever it is in the file.' }),
    known: Type.Boolean({ description: 'The finding is in the baseline and does not count.' }),
  },
  { additionalProperties: false },
);
export type LintFinding = Static<typeof LintFinding>;

export const LintReport = Type.Object(
  {
    file: Type.String({
      description: 'The file that was checked; all layers, strongest first, if there are several.',
    }),
    production: Type.Boolean(),
    usable: Type.Boolean({
      description: 'False if the service rejects the configuration. The readable parts are checked anyway.',
    }),
    errors: Type.Integer({ minimum: 0 }),
    warnings: Type.Integer({ minimum: 0 }),
    known: Type.Integer({ minimum: 0, description: 'Findings that are in the baseline.' }),
    mended: Type.Integer({ minimum: 0, description: 'Entries of the baseline that no longer occur.' }),
    findings: Type.Array(LintFinding),
  },
  { additionalProperties: false },
);
export type LintReport = Static<typeof LintReport>;
