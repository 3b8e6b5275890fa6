// Firecracker's API: HTTP on a Unix socket, a connection for each request. Answers are short; a fault is
// {"fault_message"} with status 400.
import { type IncomingMessage, request } from 'node:http';
import { judgedJson, ONE_THING } from '../../../domain/json-reading.ts';
import type { Clock } from '../../../domain/ports.ts';
import { withTimeout } from '../../../domain/timeout.ts';
import { MonitorRefusal, monitorGarbled, monitorLost, monitorSlow } from '../qmp-faults.ts';
import type { ApiRequest } from './requests.ts';

/** It opens files and makes a machine in them. */
const ANSWER_MS = 10_000;
/** Far above the longest answer to a request of ours. */
const MAX_BYTES = 64 * 1024;

export interface FirecrackerApi {
  /** Firecracker's description of itself. */
  about(signal: AbortSignal): Promise<unknown>;
  /**
   * Puts a resource. Throws MonitorRefusal when Firecracker refuses, `unavailable` when it does not answer in time,
   * `provider_error` for an invalid answer, the signal's reason on abort.
   */
  put(order: ApiRequest, signal: AbortSignal): Promise<void>;
}

export function firecrackerApi(clock: Clock, socketPath: string): FirecrackerApi {
  const ask = (order: Order, signal: AbortSignal) => answerTo({ clock, socketPath, ...order }, signal);
  return {
    about: (signal) => ask({ method: 'GET', path: '/' }, signal),
    put: async ({ path, body }, signal) => void (await ask({ method: 'PUT', path, body }, signal)),
  };
}

interface Order {
  method: 'GET' | 'PUT';
  path: string;
  body?: object;
}

interface ApiCall extends Order {
  clock: Clock;
  socketPath: string;
}

/** The deadline covers the complete answer, however slowly it arrives. */
async function answerTo({ clock, socketPath, method, path, body }: ApiCall, signal: AbortSignal) {
  signal.throwIfAborted();
  const text = body && JSON.stringify(body);
  const error = () => monitorSlow(`${method} ${path}`, ANSWER_MS);
  return withTimeout({ clock, ms: ANSWER_MS, error, signal }, async (either) => {
    const { status, answer } = await exchange({ socketPath, method, path, text }, either).catch((cause) => {
      either.throwIfAborted();
      throw cause;
    });
    if (status >= 200 && status < 300) return answer;
    throw new MonitorRefusal(`${method} ${path}`, `${status} ${faultIn(answer)}`);
  });
}

interface Exchange {
  socketPath: string;
  method: string;
  path: string;
  text: string | undefined;
}

function exchange({ socketPath, method, path, text }: Exchange, signal: AbortSignal) {
  return new Promise<{ status: number; answer: unknown }>((resolve, reject) => {
    const length = text === undefined ? {} : { 'content-length': Buffer.byteLength(text) };
    const headers = { accept: 'application/json', 'content-type': 'application/json', ...length };
    const call = request({ socketPath, method, path, headers, agent: false, signal });
    let isAnswered = false;
    call.once('response', (response) => {
      isAnswered = true;
      read(response).then((answer) => resolve({ status: response.statusCode ?? 0, answer }), reject);
    });
    call.on('error', (error) =>
      reject(isGarbled(error) ? monitorGarbled('not HTTP', error) : monitorLost(error)),
    );
    // A change of protocol (101) ends a request without an error and without a response.
    call.once('close', () => {
      if (!isAnswered) reject(monitorGarbled('no answer'));
    });
    call.end(text);
  });
}

/** What node:http cannot parse. */
function isGarbled(error: NodeJS.ErrnoException): boolean {
  return error.code?.startsWith('HPE_') ?? false;
}

async function read(response: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > MAX_BYTES) break;
      chunks.push(chunk);
    }
  } catch (error) {
    throw monitorLost(error);
  }
  if (size > MAX_BYTES) throw monitorGarbled('an answer without an end');
  return parsed(Buffer.concat(chunks));
}

function parsed(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  try {
    return judgedJson(bytes, ONE_THING);
  } catch (error) {
    throw monitorGarbled('an answer is not JSON', error);
  }
}

function faultIn(answer: unknown): string {
  const words = (answer as { fault_message?: unknown } | undefined | null)?.fault_message;
  return typeof words === 'string' ? words : '';
}
