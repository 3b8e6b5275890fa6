// Code in a sandbox's interpreter: request, result, lines and contexts (docs/design/api.md#code).
import { type Static, Type } from 'typebox';
import { DESCRIBED, described } from './described.ts';
import { Env } from './sandbox.ts';
import { AbsolutePath, duration, FineDuration } from './text-rules.ts';

const Language = Type.Enum(['python', 'bash', 'javascript']);
const ContextId = Type.String({ minLength: 1, maxLength: 64, description: 'Id of a context.' });

export const CodeRequest = Type.Object(
  {
    code: Type.String({ maxLength: 1048576, description: 'The code.' }),
    language: Type.Optional(
      Type.Enum(['python', 'bash', 'javascript'], {
        description: 'Runs in the default context of this language; python without it. Not with context_id.',
      }),
    ),
    context_id: Type.Optional(ContextId),
    env: Type.Optional(Env),
    timeout: Type.Optional(
      duration('Timeout, a duration that may include milliseconds; 0s means the maximum.', FineDuration),
    ),
    stream: Type.Optional(
      Type.Boolean({ description: 'true: stream the response as NDJSON while the code runs.' }),
    ),
  },
  {
    $id: 'CodeRequest',
    additionalProperties: false,
    [DESCRIBED]: { not: { required: ['language', 'context_id'] } },
  },
);
export type CodeRequest = Static<typeof CodeRequest>;

const text = (description: string) => Type.Optional(Type.String({ description }));

const Shown = {
  text: text('Plain text.'),
  html: text('HTML. It comes from the sandbox: show it only in an isolated frame.'),
  markdown: text('Markdown.'),
  svg: text('SVG.'),
  png: text('A PNG image, base64.'),
  jpeg: text('A JPEG image, base64.'),
  pdf: text('A PDF document, base64.'),
  latex: text('LaTeX.'),
  javascript: text('JavaScript.'),
  json: Type.Optional(Type.Unknown({ description: 'A list or a dict.' })),
  data: Type.Optional(Type.Unknown({ description: 'A DataFrame of pandas, by column.' })),
  chart: Type.Optional(Type.Unknown({ description: 'A chart of matplotlib as data.' })),
  extra: Type.Optional(Type.Unknown({ description: 'Other MIME types.' })),
};

/** What code shows. Code in the sandbox decides what is in it. */
export const CodeOutput = Type.Object(
  {
    is_main_result: Type.Boolean({ description: 'Whether it is the value of the last expression.' }),
    ...Shown,
  },
  { $id: 'CodeOutput' },
);
export type CodeOutput = Static<typeof CodeOutput>;

export const CodeError = Type.Object(
  { name: Type.String(), value: Type.String(), traceback: Type.String() },
  { $id: 'CodeError' },
);
export type CodeError = Static<typeof CodeError>;

export const CodeResult = Type.Object(
  {
    results: Type.Array(CodeOutput),
    stdout: Type.String(),
    stderr: Type.String(),
    execution_count: Type.Optional(Type.Integer({ description: 'Number of executions in the context.' })),
    error: Type.Optional(CodeError),
  },
  { $id: 'CodeResult', additionalProperties: false },
);
export type CodeResult = Static<typeof CodeResult>;

const LINE_TYPES = [
  'number_of_executions',
  'stdout',
  'stderr',
  'result',
  'error',
  'keepalive',
  'end_of_execution',
  'failed',
] as const;

export const CodeLine = Type.Object(
  {
    type: Type.Enum(LINE_TYPES, {
      description: 'The last line is end_of_execution, or failed when the execution did not end.',
    }),
    execution_count: Type.Optional(Type.Integer({ description: 'On number_of_executions.' })),
    timestamp: text('On stdout and stderr.'),
    name: text('On error.'),
    value: text('On error.'),
    traceback: text('On error.'),
    code: text('On failed.'),
    message: text('On failed.'),
    is_main_result: Type.Optional(Type.Boolean({ description: 'On result.' })),
    ...Shown,
  },
  { $id: 'CodeLine' },
);
export type CodeLine = Static<typeof CodeLine>;

export const CodeContext = Type.Object(
  { id: ContextId, language: Language, cwd: Type.String({ description: 'Working folder.' }) },
  { $id: 'CodeContext', additionalProperties: false },
);
export type CodeContext = Static<typeof CodeContext>;

export const CodeContexts = Type.Object(
  { contexts: Type.Array(CodeContext) },
  { $id: 'CodeContexts', additionalProperties: false },
);
export type CodeContexts = Static<typeof CodeContexts>;

export const CodeContextRequest = Type.Object(
  {
    language: Type.Optional(Language),
    cwd: Type.Optional(
      described(
        Type.String({ maxLength: 4096, description: 'Working folder, an absolute path.' }),
        AbsolutePath,
      ),
    ),
  },
  { $id: 'CodeContextRequest', additionalProperties: false },
);
export type CodeContextRequest = Static<typeof CodeContextRequest>;

export const CodeContextEnded = Type.Object(
  { status: Type.Enum(['restarted', 'removed']) },
  { $id: 'CodeContextEnded', additionalProperties: false },
);
export type CodeContextEnded = Static<typeof CodeContextEnded>;
