// Commands in a sandbox (api.md part 3).
import { ExecLine, ExecRequest, ExecResult } from '../../schema/exec.ts';
import { defineRoute, type Route } from '../route.ts';
import { ndjson } from '../stream.ts';
import { SandboxParams } from './params.ts';

export const execRoutes: Route[] = [
  defineRoute({
    id: 'exec',
    tag: 'sandboxes',
    auth: 'api',
    summary: 'Run a command in a sandbox',
    description:
      'A non-zero exit is a result, not an error. With stream true the answer is NDJSON and ends with an exit or error line; closing the connection kills the command.',
    params: SandboxParams,
    body: ExecRequest,
    success: {
      status: 200,
      description: 'The command has ended.',
      schema: ExecResult,
      other: { 'application/x-ndjson': { schema: ExecLine } },
    },
    errors: ['not_found', 'timeout', 'conflict', 'resource_limit', 'provider_error', 'unavailable'],
    example: { command: 'echo hello', timeout: '10s' },
    handler: async ({ params, body, caller, signal }, { exec }) =>
      body.stream
        ? ndjson(await exec.stream(params.id, body, caller, signal))
        : exec.run(params.id, body, caller, signal),
  }),
];
