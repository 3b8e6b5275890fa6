// Commands in a sandbox, while somebody waits for them or on their own (docs/design/api.md#execs), and its console.
import { Type } from 'typebox';
import { ServiceError } from '../../domain/errors.ts';
import {
  ExecDetached,
  ExecItem,
  ExecLine,
  ExecOutputQuery,
  ExecRequest,
  ExecResult,
  ExecSignalled,
  ExecSignalRequest,
  LogLine,
  LogsQuery,
} from '../../schema/exec.ts';
import { Answer, PiecedAnswer, SocketAnswer } from '../answer.ts';
import { idempotencyOf } from '../headers/idempotency-key.ts';
import { withOutputs } from '../pieces.ts';
import { defineRoute, type Route } from '../route.ts';
import { serveExecSocket } from '../socket/exec-socket.ts';
import { execNdjson, ndjson } from '../stream.ts';
import { EXEC_IDEMPOTENCY, ExecParams, SandboxParams } from './params.ts';

const tag = 'sandboxes';
const auth = 'api';

const noKeyHere = () =>
  new ServiceError('bad_request', 'A command over a WebSocket does not accept an Idempotency-Key.', {
    remedy: 'Send the command to POST /sandboxes/{id}/exec instead.',
  });

export const execRoutes: Route[] = [
  defineRoute({
    id: 'exec',
    tag,
    auth,
    summary: 'Run a command in a sandbox',
    description:
      'A non-zero exit code is a result, not an error. With stream true, the response is NDJSON and ends with an exit or error line; closing the connection kills the command. With detach true, the response comes once the command runs, and the command keeps running.',
    params: SandboxParams,
    body: ExecRequest,
    headers: EXEC_IDEMPOTENCY,
    success: {
      status: 200,
      description: 'The result of the command.',
      schema: ExecResult,
      other: { 'application/x-ndjson': { schema: ExecLine } },
    },
    alternative: { status: 202, description: 'The detached command is running.', schema: ExecDetached },
    errors: [
      'not_found',
      'timeout',
      'conflict',
      'resource_limit',
      'provider_error',
      'not_implemented',
      'unavailable',
    ],
    example: { command: 'echo hello', timeout: '10s' },
    handler: async ({ params, body, headers, caller, signal, hold }, { exec }) => {
      const request = { ...body, ...idempotencyOf(headers) };
      if (body.detach)
        return new Answer(await exec.detach(params.id, request, caller, signal), { status: 202 });
      if (body.stream) return execNdjson(await exec.stream(params.id, request, caller, signal));
      return new PiecedAnswer(withOutputs(await exec.run(params.id, request, caller, signal, hold)));
    },
  }),
  defineRoute({
    id: 'execSocket',
    tag,
    auth,
    scope: 'use',
    summary: 'Run an interactive command over a WebSocket',
    description:
      'The client first sends {"type":"start", …} with the fields of an exec request except stream and stdin, and optionally tty, cols, rows and binary. It may then send stdin (data, encoding), stdin_close, resize (cols, rows) and signal (signal); binary messages are standard input. The server sends started (exec_id, and starts_at_stdin_end true where the provider runs the command only after stdin_close), stdout and stderr (data), and at the end exit or error. With binary true, output arrives as binary messages whose first byte is 1 for stdout and 2 for stderr. Closing the socket kills the command unless it is detached or was started with keep true. A kept command is followed again, with its input, by {"type":"attach","exec_id":…} as the first message, with cols, rows, binary and encoding; output that nobody has followed comes first, and truncated says that older output was dropped. Browsers send the subprotocol svc.v1, the key as svc.key.<base64url> and the owner as svc.user.<base64url>.',
    params: SandboxParams,
    success: { status: 101, description: 'The connection switches to the WebSocket protocol.' },
    errors: ['not_found', 'conflict', 'resource_limit', 'not_implemented', 'unavailable'],
    handler: async ({ params, headers, caller }, { exec, sandboxes }) => {
      if (idempotencyOf(headers).idempotencyKey !== undefined) throw noKeyHere();
      await sandboxes.get(params.id, caller);
      return new SocketAnswer((ws, tools) =>
        serveExecSocket(ws, {
          ...tools,
          sandbox_id: params.id,
          open: (request, signal) => exec.open(params.id, request, caller, signal),
          attach: (exec_id, signal) => exec.resume({ id: params.id, exec_id }, caller, signal),
        }),
      );
    },
  }),
  defineRoute({
    id: 'listExecs',
    tag,
    auth,
    summary: 'List the commands of a sandbox',
    description:
      'Returns running and ended commands, newest first and at most 1000, also of a sandbox that has ended as long as its record is kept.',
    params: SandboxParams,
    success: { status: 200, description: 'The commands.', schema: Type.Array(ExecItem) },
    errors: ['not_found', 'conflict', 'not_implemented', 'unavailable'],
    handler: ({ params, caller, signal }, { exec }) => exec.list(params.id, caller, signal),
  }),
  defineRoute({
    id: 'getExec',
    tag,
    auth,
    summary: 'Get one command of a sandbox',
    params: ExecParams,
    success: { status: 200, description: 'The command.', schema: ExecItem },
    errors: ['not_found', 'conflict', 'not_implemented', 'unavailable'],
    handler: ({ params, caller, signal }, { exec }) => exec.get(params.id, params.exec_id, caller, signal),
  }),
  defineRoute({
    id: 'execOutput',
    tag,
    auth,
    summary: 'Read the output of a detached command',
    description:
      'NDJSON: a start line, the stored output (the last 1 MiB), then new output. An exit line follows when the command ends. Without follow, the response ends after the stored output even while the command runs. Closing the connection does not kill the command.',
    params: ExecParams,
    query: ExecOutputQuery,
    success: {
      status: 200,
      description: 'The output.',
      other: { 'application/x-ndjson': { schema: ExecLine } },
    },
    errors: ['not_found', 'conflict', 'not_implemented', 'unavailable'],
    handler: async ({ params, query, caller, signal }, { exec }) =>
      execNdjson(await exec.output(params, query, caller, signal)),
  }),
  defineRoute({
    id: 'signalExec',
    tag,
    auth,
    summary: 'Send a signal to a command',
    params: ExecParams,
    body: ExecSignalRequest,
    success: { status: 200, description: 'The signal was sent.', schema: ExecSignalled },
    errors: ['not_found', 'conflict', 'not_implemented', 'unavailable'],
    example: { signal: 'SIGTERM' },
    handler: async ({ params, body, caller }, { exec }) => {
      await exec.signal(params, body.signal, caller);
      return { status: 'signalled' as const };
    },
  }),
  defineRoute({
    id: 'sandboxLogs',
    tag,
    auth,
    summary: 'Read the console of a sandbox',
    description:
      'Contains output of detached commands, of setup commands and of the agent. It does not contain the output of attached commands.',
    params: SandboxParams,
    query: LogsQuery,
    success: {
      status: 200,
      description: 'The last lines, oldest first.',
      schema: Type.Array(Type.String()),
      other: { 'application/x-ndjson': { schema: LogLine } },
    },
    errors: ['not_found', 'conflict', 'not_implemented', 'unavailable'],
    handler: async ({ params, query, caller, signal, hold }, { logs }) => {
      const { lines = 100, follow = false } = query;
      if (follow) return ndjson(await logs.follow(params.id, lines, caller, signal));
      return logs.read(params.id, lines, caller, signal, hold);
    },
  }),
];
