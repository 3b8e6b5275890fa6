// What the code interpreter of E2B answers on its port of a sandbox: executions as lines of JSON, and contexts.
import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { CodeTerms } from '../../control/api/code.ts';
import type { ControlPlane } from '../../control/api/control-plane.ts';
import { CodeContextRequest, type CodeLine, CodeRequest } from '../../schema/code.ts';
import { validator } from '../../schema/validator.ts';
import { badWish } from './answers.ts';
import { environmentOf } from './environment.ts';
import { type Fields, objectOf, readBytes } from './read-body.ts';
import { drained, type RpcCall } from './rpc/rpc.ts';
import { isAboutPath, type People } from './users.ts';

/** As their clients name it in E2b-Sandbox-Port. */
export const CODE_PORT = '49999';
/** All contexts are of one server, whoever asks first. */
const DEFAULT_USER = '';
const MOST_BODY = 4 * 1024 * 1024;
const LINES = { 'Content-Type': 'application/x-ndjson', 'Cache-Control': 'no-store' };
/** Some clients split lines at these as well. */
const LINE_ENDS = /[\u0085\u2028\u2029]/g;
const LANGUAGES: Record<string, string> = { py: 'python', python3: 'python', js: 'javascript', sh: 'bash' };
const checkCode = validator(CodeRequest, 'The request');
const checkContext = validator(CodeContextRequest, 'The request');

export interface CodeServiceDeps {
  control: Pick<ControlPlane, 'code' | 'files'>;
  people: People;
  templateOf(call: RpcCall): Promise<string>;
  /** Takes the response from the framework, for an answer without an end. */
  hijack(reply: FastifyReply): ServerResponse;
}

export interface CodeRoute {
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  handler(call: RpcCall, request: FastifyRequest, reply: FastifyReply): Promise<unknown>;
}

export interface CodeService {
  routes: CodeRoute[];
  /** Resolves when the interpreter answers. */
  ready(call: RpcCall): Promise<void>;
}

export function codeService(deps: CodeServiceDeps): CodeService {
  const { code } = deps.control;
  const idOf = ({ params }: FastifyRequest) => (params as { context: string }).context;
  const termsOf = (call: RpcCall) => terms(deps, call);
  return {
    ready: async (call) => code.ready(call.sandbox_id, await termsOf(call)),
    routes: [
      {
        method: 'POST',
        path: '/execute',
        handler: async (call, request, reply) => {
          const asked = codeOf(await bodyOf(call, request));
          const lines = await code.stream(call.sandbox_id, asked, await termsOf(call));
          await sendLines(deps.hijack(reply), lines);
          return reply;
        },
      },
      {
        method: 'GET',
        path: '/contexts',
        handler: async (call) => code.contexts(call.sandbox_id, await termsOf(call)),
      },
      {
        method: 'POST',
        path: '/contexts',
        handler: async (call, request) => {
          const asked = contextOf(await bodyOf(call, request));
          if (asked.cwd !== undefined) await makeFolder(deps, call, asked.cwd);
          return code.createContext(call.sandbox_id, asked, await termsOf(call));
        },
      },
      {
        method: 'POST',
        path: '/contexts/:context/restart',
        handler: async (call, request) => {
          await code.restartContext(call.sandbox_id, idOf(request), await termsOf(call));
          return {};
        },
      },
      {
        method: 'DELETE',
        path: '/contexts/:context',
        handler: async (call, request) => {
          await code.removeContext(call.sandbox_id, idOf(request), await termsOf(call));
          return {};
        },
      },
    ],
  };
}

/** Programs name folders that are not there. One that cannot be made is refused when the context starts. */
async function makeFolder({ control, people }: CodeServiceDeps, call: RpcCall, path: string): Promise<void> {
  const { sandbox_id, caller, signal } = call;
  const files = control.files.as((await people.of(call, DEFAULT_USER)).account);
  await files.mkdir(sandbox_id, path, { parents: true }, caller, signal).catch((error: unknown) => {
    if (!isAboutPath(error)) throw error;
  });
}

/** Clients keep deadlines themselves. */
async function terms({ people, templateOf }: CodeServiceDeps, call: RpcCall): Promise<CodeTerms> {
  const { caller, signal, hold } = call;
  const [person, template] = await Promise.all([people.of(call, DEFAULT_USER), templateOf(call)]);
  const environment = environmentOf(person, { ...call, template });
  return { caller, signal, hold, deadlineMs: 0, environment, user: person.account };
}

async function bodyOf({ hold }: RpcCall, { raw }: FastifyRequest): Promise<Fields> {
  return objectOf(await readBytes(raw, MOST_BODY, hold));
}

function codeOf(body: Fields): CodeRequest {
  const [context_id, env, language] = [
    body.text('context_id'),
    body.texts('env_vars'),
    languageOf(body.text('language')),
  ];
  return checked(checkCode, {
    code: body.text('code') ?? '',
    ...(language !== undefined && { language }),
    ...(context_id !== undefined && { context_id }),
    ...(env !== undefined && { env }),
  }) as CodeRequest;
}

function contextOf(body: Fields): CodeContextRequest {
  const [cwd, language] = [body.text('cwd'), languageOf(body.text('language'))];
  return checked(checkContext, {
    ...(language !== undefined && { language }),
    ...(cwd !== undefined && { cwd }),
  }) as CodeContextRequest;
}

function languageOf(asked: string | undefined): string | undefined {
  const name = asked?.toLowerCase();
  const language = name && (LANGUAGES[name] ?? name);
  if (language && !['python', 'javascript', 'bash'].includes(language))
    throw badWish(`The language ${language.slice(0, 64)} is not supported. Use python, javascript or bash.`);
  return language;
}

function checked(check: (value: unknown) => string | undefined, value: object): object {
  const problem = check(value);
  if (problem !== undefined) throw badWish(problem);
  return value;
}

/** An execution that broke cuts the connection: clients then ask whether the sandbox still lives. */
async function sendLines(response: ServerResponse, lines: AsyncIterable<CodeLine>): Promise<void> {
  response.writeHead(200, LINES);
  response.flushHeaders();
  for await (const line of lines) {
    if (response.destroyed) return;
    if (line.type === 'failed') return void response.destroy();
    if (!response.write(`${asLine(line)}\n`)) await drained(response);
  }
  response.end();
}

const asLine = (line: CodeLine): string =>
  textOf(line).replace(LINE_ENDS, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** Numbers of charts are fractions for Python, which tells 1 from 1.0. */
function textOf(line: CodeLine): string {
  if (line.type !== 'result' || line.chart === undefined) return JSON.stringify(line);
  const { chart, ...rest } = line;
  return `${JSON.stringify(rest).slice(0, -1)},"chart":${withFractions(chart)}}`;
}

function withFractions(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(withFractions).join(',')}]`;
  if (typeof value === 'object' && value !== null)
    return `{${Object.entries(value)
      .map(([name, one]) => `${JSON.stringify(name)}:${withFractions(one)}`)
      .join(',')}}`;
  const text = JSON.stringify(value) ?? 'null';
  return typeof value === 'number' && /^-?\d+$/.test(text) ? `${text}.0` : text;
}
