// Code in the interpreter of a sandbox (docs/design/api.md#code).
import { Type } from 'typebox';
import {
  CodeContext,
  CodeContextEnded,
  CodeContextRequest,
  CodeContexts,
  CodeLine,
  CodeRequest,
  CodeResult,
} from '../../schema/code.ts';
import { defineRoute, type Route } from '../route.ts';
import { ndjson } from '../stream.ts';
import { SandboxParams } from './params.ts';

const tag = 'sandboxes';
const auth = 'api';
const CONTEXT_ERRORS = [
  'not_found',
  'conflict',
  'timeout',
  'resource_limit',
  'provider_error',
  'not_implemented',
  'unavailable',
] as const;
const ERRORS = [...CONTEXT_ERRORS, 'payload_too_large'] as const;
const ContextParams = Type.Object({
  ...SandboxParams.properties,
  context_id: Type.String({ minLength: 1, maxLength: 64, description: 'Context id.' }),
});

export const codeRoutes: Route[] = [
  defineRoute({
    id: 'runCode',
    tag,
    auth,
    scope: 'use',
    summary: 'Run code in the interpreter of a sandbox',
    description:
      'The interpreter keeps names and values between executions, in contexts. An error in the code is a result. With stream true, the response is NDJSON and ends with an end_of_execution or failed line. Closing the connection interrupts the code. The sandbox needs python3 with ipykernel. Results come from code in the sandbox: do not show their HTML and SVG outside an isolated frame.',
    params: SandboxParams,
    body: CodeRequest,
    success: {
      status: 200,
      description: 'The result of the code.',
      schema: CodeResult,
      other: { 'application/x-ndjson': { schema: CodeLine } },
    },
    errors: [...ERRORS],
    example: { code: '1 + 1' },
    handler: async ({ params, body, caller, signal, hold }, { code }) => {
      const terms = { caller, signal, hold };
      if (body.stream) return ndjson(await code.stream(params.id, body, terms));
      return code.run(params.id, body, terms);
    },
  }),
  defineRoute({
    id: 'listCodeContexts',
    tag,
    auth,
    scope: 'use',
    summary: 'List the contexts of the interpreter',
    description: 'Starts the interpreter if it does not run yet.',
    params: SandboxParams,
    success: { status: 200, description: 'The contexts, oldest first.', schema: CodeContexts },
    errors: [...CONTEXT_ERRORS],
    handler: async ({ params, caller, signal, hold }, { code }) => ({
      contexts: await code.contexts(params.id, { caller, signal, hold }),
    }),
  }),
  defineRoute({
    id: 'createCodeContext',
    tag,
    auth,
    scope: 'use',
    summary: 'Create a context of the interpreter',
    params: SandboxParams,
    body: CodeContextRequest,
    success: { status: 200, description: 'The context.', schema: CodeContext },
    errors: [...ERRORS],
    example: { language: 'python' },
    handler: ({ params, body, caller, signal, hold }, { code }) =>
      code.createContext(params.id, body, { caller, signal, hold }),
  }),
  defineRoute({
    id: 'restartCodeContext',
    tag,
    auth,
    scope: 'use',
    summary: 'Restart a context of the interpreter',
    description: 'Its names and values are lost, and code that runs in it is interrupted.',
    params: ContextParams,
    success: { status: 200, description: 'The context was restarted.', schema: CodeContextEnded },
    errors: [...CONTEXT_ERRORS],
    handler: async ({ params, caller, signal, hold }, { code }) => {
      await code.restartContext(params.id, params.context_id, { caller, signal, hold });
      return { status: 'restarted' as const };
    },
  }),
  defineRoute({
    id: 'removeCodeContext',
    tag,
    auth,
    scope: 'use',
    summary: 'Remove a context of the interpreter',
    params: ContextParams,
    success: { status: 200, description: 'The context was removed.', schema: CodeContextEnded },
    errors: [...CONTEXT_ERRORS],
    handler: async ({ params, caller, signal, hold }, { code }) => {
      await code.removeContext(params.id, params.context_id, { caller, signal, hold });
      return { status: 'removed' as const };
    },
  }),
];
