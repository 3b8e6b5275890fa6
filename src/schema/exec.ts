// Exec request, result and NDJSON lines (docs/design/api.md#execs).
import { type Static, Type } from 'typebox';
import { actorField } from './actor.ts';
import { DESCRIBED, described } from './described.ts';
import { Env } from './sandbox.ts';
import { SIGNAL_NAME } from './signals.ts';
import { AbsolutePath, Argument, CommandLine, duration, FineDuration } from './text-rules.ts';

export const ExecRequest = Type.Object(
  {
    command: described(
      Type.String({
        minLength: 1,
        maxLength: 1048576,
        description: 'Command line (shell) or program (argv).',
      }),
      CommandLine,
    ),
    mode: Type.Optional(
      Type.Enum(['shell', 'argv'], {
        description: 'shell (default): runs sh -c command; argv: runs command with args.',
      }),
    ),
    args: Type.Optional(
      Type.Array(described(Type.String(), Argument), {
        maxItems: 4096,
        description: 'Arguments; in shell mode each one is quoted and appended to the command.',
      }),
    ),
    env: Type.Optional(Env),
    workdir: Type.Optional(
      described(Type.String({ maxLength: 4096, description: 'Absolute path.' }), AbsolutePath),
    ),
    stdin: Type.Optional(
      Type.String({ description: 'Text for standard input; without it standard input is empty.' }),
    ),
    timeout: Type.Optional(
      duration('Timeout, a duration that may include milliseconds; 0s means the maximum.', FineDuration),
    ),
    stream: Type.Optional(
      Type.Boolean({ description: 'true: stream the response as NDJSON while the command runs.' }),
    ),
    detach: Type.Optional(
      Type.Boolean({
        description:
          'true: respond once the command runs and leave it running. Without timeout it runs as long as the sandbox.',
      }),
    ),
    encoding: Type.Optional(
      Type.Enum(['utf8', 'base64'], {
        description: 'Encoding of output in JSON; utf8 replaces invalid bytes.',
      }),
    ),
  },
  {
    $id: 'ExecRequest',
    additionalProperties: false,
    // A detached command has no standard input and gives no output here.
    [DESCRIBED]: {
      anyOf: [
        { properties: { detach: { const: false } } },
        {
          properties: { stream: { const: false } },
          not: { anyOf: [{ required: ['stdin'] }, { required: ['encoding'] }] },
        },
      ],
    },
  },
);
export type ExecRequest = Static<typeof ExecRequest>;

export const ExecResult = Type.Object(
  {
    exec_id: Type.String(),
    exit_code: Type.Integer(),
    signal: Type.Optional(
      Type.String({ description: 'The signal that ended the command, for example SIGKILL.' }),
    ),
    stdout: Type.String(),
    stderr: Type.String(),
    duration: Type.String(),
    duration_ms: Type.Integer(),
    stdout_truncated: Type.Boolean(),
    stderr_truncated: Type.Boolean(),
  },
  { $id: 'ExecResult', additionalProperties: false },
);
export type ExecResult = Static<typeof ExecResult>;

export const ExecLine = Type.Object(
  {
    stream: Type.Enum(['start', 'stdout', 'stderr', 'keepalive', 'exit', 'error']),
    data: Type.String({ description: 'Output; empty except on output lines.' }),
    exec_id: Type.Optional(Type.String()),
    truncated: Type.Optional(Type.Boolean({ description: 'On start lines: older output was dropped.' })),
    exit_code: Type.Optional(Type.Integer()),
    signal: Type.Optional(Type.String()),
    timed_out: Type.Optional(Type.Boolean()),
    duration_ms: Type.Optional(Type.Integer()),
    code: Type.Optional(Type.String()),
    message: Type.Optional(Type.String()),
  },
  { $id: 'ExecLine', additionalProperties: false },
);
export type ExecLine = Static<typeof ExecLine>;

export const ExecDetached = Type.Object(
  { exec_id: Type.String() },
  { $id: 'ExecDetached', additionalProperties: false },
);
export type ExecDetached = Static<typeof ExecDetached>;

/** Characters of a command that are kept, with its arguments. */
export const LONGEST_COMMAND = 1024;
/** Commands that a list returns. */
export const MOST_LISTED = 1000;

export const ExecItem = Type.Object(
  {
    exec_id: Type.String(),
    command: Type.String({
      description: 'The command with its arguments, without secrets, cut at 1024 characters.',
    }),
    detached: Type.Boolean({ description: 'Whether output is kept and can be read by several readers.' }),
    state: Type.Enum(['running', 'exited']),
    exit_code: Type.Optional(Type.Integer()),
    signal: Type.Optional(Type.String()),
    started_at: Type.String({ format: 'date-time' }),
    ended_at: Type.Optional(Type.String({ format: 'date-time' })),
    attachable: Type.Optional(
      Type.Boolean({
        description: 'It runs and was started with keep: a WebSocket can follow it with its input.',
      }),
    ),
    actor: actorField('Who ran it'),
  },
  { $id: 'ExecItem', additionalProperties: false },
);
export type ExecItem = Static<typeof ExecItem>;

export const ExecOutputQuery = Type.Object({
  follow: Type.Optional(
    Type.Boolean({ description: 'true: keep the response open until the command ends.', default: false }),
  ),
  encoding: Type.Optional(
    Type.Enum(['utf8', 'base64'], { description: 'Encoding of output in JSON.', default: 'utf8' }),
  ),
});
export type ExecOutputQuery = Static<typeof ExecOutputQuery>;

export const ExecSignalRequest = Type.Object(
  {
    signal: described(
      Type.String({ minLength: 1, maxLength: 32, description: 'A signal name such as SIGTERM.' }),
      {
        pattern: SIGNAL_NAME,
      },
    ),
  },
  { $id: 'ExecSignalRequest', additionalProperties: false },
);
export type ExecSignalRequest = Static<typeof ExecSignalRequest>;

export const ExecSignalled = Type.Object(
  { status: Type.Literal('signalled') },
  { $id: 'ExecSignalled', additionalProperties: false },
);

export const LogsQuery = Type.Object({
  lines: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 10_000, default: 100, description: 'Number of lines from the end.' }),
  ),
  follow: Type.Optional(
    Type.Boolean({ default: false, description: 'true: respond with NDJSON and continue with new output.' }),
  ),
});
export type LogsQuery = Static<typeof LogsQuery>;

export const LogLine = Type.Object({ line: Type.String() }, { $id: 'LogLine', additionalProperties: false });
export type LogLine = Static<typeof LogLine>;
