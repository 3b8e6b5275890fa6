// What `svc config lint` reports; `--json` prints exactly this. Places are of the file, from 1; columns count UTF-16 units.
import { type Static, Type } from 'typebox';

export const LintLevel = Type.Enum(['error', 'warning']);
export type LintLevel = Static<typeof LintLevel>;

export const LintFinding = Type.Object(
  {
    rule: Type.String({ pattern: '^SVC[0-9]{3}$' }),
    topic: Type.String(),
    level: LintLevel,
    key: Type.String({ description: 'The key to change; empty for the file as a whole.' }),
    message: Type.String(),
    remedy: Type.String(),
    file: Type.String({ description: 'The file that it is of.' }),
    line: Type.Integer({ minimum: 1 }),
    column: Type.Integer({ minimum: 1 }),
    end_column: Type.Optional(
      Type.Integer({ minimum: 1, description: 'First column after it, on the same line.' }),
    ),
    source: Type.Optional(Type.String({ description: 'The line up to there, secrets masked.' })),
    fingerprint: Type.String({ description: 'The same wherever in the file it stands.' }),
    known: Type.Boolean({ description: 'The baseline has it: it does not count.' }),
  },
  { additionalProperties: false },
);
export type LintFinding = Static<typeof LintFinding>;

export const LintReport = Type.Object(
  {
    file: Type.String({ description: 'The file that was judged; of several layers all, strongest first.' }),
    production: Type.Boolean(),
    usable: Type.Boolean({
      description:
        'False when the service refuses it as no configuration. What could be read is judged all the same.',
    }),
    errors: Type.Integer({ minimum: 0 }),
    warnings: Type.Integer({ minimum: 0 }),
    known: Type.Integer({ minimum: 0, description: 'Findings that the baseline has.' }),
    mended: Type.Integer({ minimum: 0, description: 'Entries of the baseline that are found no more.' }),
    findings: Type.Array(LintFinding),
  },
  { additionalProperties: false },
);
export type LintReport = Static<typeof LintReport>;
