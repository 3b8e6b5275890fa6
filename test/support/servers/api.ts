// The API as a test speaks it: plain fetch against a running server, statuses and bodies as they come.
import type { ExecResult } from '../../../src/schema/exec.ts';
import type { Sandbox } from '../../../src/schema/sandbox.ts';

export interface Answer<T> {
  status: number;
  headers: Headers;
  body: T;
}

export interface Api {
  /** JSON in, JSON out. */
  call<T = unknown>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer<T>>;
  /** Any request below /api/v1. */
  raw(path: string, init?: RequestInit): Promise<Response>;
  /** A running sandbox; throws unless 201. */
  spawn(request?: object): Promise<Sandbox>;
  /** `sh -c command`; throws unless 200. */
  sh(id: string, command: string, more?: object): Promise<ExecResult>;
  destroy(id: string): Promise<void>;
}

export function api(url: string, defaults: Record<string, string> = {}): Api {
  const raw = (path: string, init: RequestInit = {}) =>
    fetch(`${url}/api/v1${path}`, {
      ...init,
      headers: { ...defaults, ...(init.headers as Record<string, string>) },
    });
  const call = async <T>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ) => {
    const payload = body === undefined ? {} : { body: JSON.stringify(body) };
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    const response = await raw(path, { method, headers: { ...type, ...headers }, ...payload });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: (text === '' ? undefined : JSON.parse(text)) as T,
    };
  };
  const must = async <T>(status: number, answer: Promise<Answer<T>>): Promise<T> => {
    const { status: got, body } = await answer;
    if (got !== status) throw new Error(`expected ${status}, got ${got}: ${JSON.stringify(body)}`);
    return body;
  };
  return {
    call,
    raw,
    spawn: (request = {}) => must(201, call<Sandbox>('POST', '/sandboxes', request)),
    sh: (id, command, more = {}) =>
      must(200, call<ExecResult>('POST', `/sandboxes/${id}/exec`, { command, ...more })),
    destroy: async (id) => void (await must(200, call('DELETE', `/sandboxes/${id}`))),
  };
}
