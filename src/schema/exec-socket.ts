// Messages of the WebSocket exec (docs/design/api.md#streams). Text messages are JSON; binary ones from the client are
// standard input.
import { type Static, Type } from 'typebox';
import { ExecRequest } from './exec.ts';

const Side = Type.Integer({ minimum: 1, maximum: 1000 });
const { stream: _stream, stdin: _stdin, ...fields } = ExecRequest.properties;

const binary = Type.Optional(
  Type.Boolean({
    description: 'Send output as binary messages whose first byte is 1 for stdout and 2 for stderr.',
  }),
);

/** The first message: an exec request without `stream` and `stdin`, and how to talk. */
export const SocketStart = Type.Object(
  {
    ...fields,
    type: Type.Literal('start'),
    tty: Type.Optional(
      Type.Boolean({ description: 'Run the command on a terminal; both outputs then arrive as stdout.' }),
    ),
    cols: Type.Optional(Side),
    rows: Type.Optional(Side),
    binary,
    keep: Type.Optional(
      Type.Boolean({
        description:
          'The command lives on when the connection ends, also through a restart of the server; attach follows it again.',
      }),
    ),
  },
  { $id: 'SocketStart', additionalProperties: false },
);
export type SocketStart = Static<typeof SocketStart>;

/** Instead of a start: follows a command that was started with `keep`, with its input. */
export const SocketAttach = Type.Object(
  {
    type: Type.Literal('attach'),
    exec_id: Type.String({ minLength: 1, maxLength: 128 }),
    cols: Type.Optional(Side),
    rows: Type.Optional(Side),
    binary,
    encoding: SocketStart.properties.encoding,
  },
  { $id: 'SocketAttach', additionalProperties: false },
);
export type SocketAttach = Static<typeof SocketAttach>;

/** What may follow. */
export const SOCKET_MESSAGES = {
  stdin: Type.Object(
    {
      type: Type.Literal('stdin'),
      data: Type.String(),
      encoding: Type.Optional(Type.Enum(['utf8', 'base64'])),
    },
    { additionalProperties: false },
  ),
  stdin_close: Type.Object({ type: Type.Literal('stdin_close') }, { additionalProperties: false }),
  resize: Type.Object(
    { type: Type.Literal('resize'), cols: Side, rows: Side },
    { additionalProperties: false },
  ),
  signal: Type.Object(
    { type: Type.Literal('signal'), signal: Type.String({ minLength: 1, maxLength: 32 }) },
    { additionalProperties: false },
  ),
} as const;

type Messages = typeof SOCKET_MESSAGES;
export type SocketMessage = { [Name in keyof Messages]: Static<Messages[Name]> }[keyof Messages];

/** What the server says; in binary mode outputs are not among it. */
export type SocketAnswer =
  | {
      type: 'started';
      exec_id: string;
      /** The provider runs the command only when `stdin_close` has come. */
      starts_at_stdin_end?: true;
      /** After an attach: older output that nobody had followed was dropped. */
      truncated?: true;
    }
  | { type: 'stdout' | 'stderr'; data: string }
  | { type: 'exit'; exit_code: number; signal?: string; timed_out?: true; duration_ms: number }
  | { type: 'error'; code: string; message: string; details?: object };
