// Tools that look at the machine on which `svc mcp` runs: they exist over stdio only, and change nothing.
import { Type } from 'typebox';
import type { DoctorReport } from '../schema/doctor.ts';
import type { LintReport } from '../schema/lint.ts';
import { recordResult } from './output.ts';
import { defineTool, type Tool } from './tool.ts';

/** What this machine says of itself. Neither starts a sandbox, and neither shows a secret. */
export interface HostChecks {
  doctor(request: DoctorRequest, signal: AbortSignal): Promise<DoctorReport>;
  lint(request: { file?: string; production: boolean }): LintReport;
}

export interface DoctorRequest {
  config?: string;
  production: boolean;
  only: readonly string[];
}

const file = Type.Optional(
  Type.String({ minLength: 1, maxLength: 4096, description: 'Path of a configuration file.' }),
);
const production = Type.Optional(Type.Boolean({ description: 'Apply the production rules.' }));
const hints = { readOnlyHint: true } as const;

export function hostTools(checks: HostChecks): readonly Tool[] {
  const doctor = defineTool({
    name: 'doctor',
    title: 'Check this machine',
    description:
      'Check the machine on which svc mcp runs for everything that the service needs: each check with its verdict, observation and remedy. It starts no sandbox.',
    input: Type.Object({
      config: file,
      production,
      only: Type.Optional(
        Type.Array(Type.String({ maxLength: 64 }), {
          maxItems: 64,
          description: 'Groups or checks, such as database or database.space; all without it.',
        }),
      ),
    }),
    hints,
    run: async ({ only = [], production = false, ...request }, { signal }) =>
      recordResult(await checks.doctor({ ...request, only, production }, signal)),
  });
  const lint = defineTool({
    name: 'lint_config',
    title: 'Check a configuration',
    description:
      'Check the configuration of the service on this machine, or the given file: each finding with its rule, its line and its remedy. read_document explains a rule.',
    input: Type.Object({ file, production }),
    hints,
    run: async ({ production = false, ...request }) => recordResult(checks.lint({ ...request, production })),
  });
  return [doctor, lint];
}
