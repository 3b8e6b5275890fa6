// Every route of the API description on a real server with a real sandbox: each answer is one of ours, in time, and the
// server lives on.
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import type { OpenTarget, Outcome } from './campaign.ts';
import type { Chance } from './chance.ts';
import { type FuzzedServer, fuzzedServer } from './fuzzed-server.ts';
import { type Heard, misbehaved } from './judge.ts';
import { type FuzzRequest, requestOf } from './requests.ts';

/** Cases between two tidyings. */
const TIDY_EVERY = 150;
/** A stream is left after so long, and so much of any answer is read. */
const STREAM_MS = 60;
const MOST_READ = 4 * 1024 * 1024;
const STREAMS = /text\/event-stream|application\/x-ndjson/;

export const routes = { width: 6, open: openRoutes };

async function openRoutes(): Promise<OpenTarget> {
  const fuzzed = await fuzzedServer();
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  let cases = 0;
  let tidying: Promise<void> | undefined;
  return {
    one: async (chance: Chance) => {
      if (++cases % TIDY_EVERY === 0)
        tidying = fuzzed.tidy().finally(() => {
          tidying = undefined;
        });
      await tidying;
      return judged(fuzzed, requestOf(chance, fuzzed.sandbox()), agent);
    },
    verdict: () => fuzzed.verdict(),
    close: async () => {
      agent.destroy();
      await fuzzed.close();
    },
  };
}

async function judged(fuzzed: FuzzedServer, request: FuzzRequest, agent: Agent): Promise<Outcome> {
  const heard = await ask(fuzzed.port, request, agent);
  // As it is sent: a URL would take `..` out of it.
  const url = request.path.startsWith('/')
    ? `${fuzzed.server.url}${request.path}`
    : new URL(request.path, fuzzed.server.url).href;
  const fault = misbehaved({ ...request, url }, heard);
  return { kind: kindOf(heard), fault: fault && `${fault}\n  ${told(request)}` };
}

/** The message where the status is one that few answers may have. */
function kindOf({ status, body }: Heard): string {
  return status < 500 ? String(status) : `${status} ${/"message":"([^"]*)"/.exec(body)?.[1]}`;
}

function told({ operation, method, path, headers, body }: FuzzRequest): string {
  const text = body === undefined ? '' : ` ${JSON.stringify(body.toString('latin1').slice(0, 500))}`;
  return `${operation}: ${method} ${path.slice(0, 400)} ${JSON.stringify(headers).slice(0, 600)}${text}`;
}

/** Rejects when the connection ends without a complete answer. */
function ask(port: number, { method, path, headers, body }: FuzzRequest, agent: Agent): Promise<Heard> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ port, method, path, agent, host: '127.0.0.1', headers });
    request.on('response', (answer) => void read(answer).then(resolve, reject));
    request.on('error', (error) => reject(new Error(`${error}\n  ${method} ${path}`)));
    request.end(body);
  });
}

async function read(answer: IncomingMessage): Promise<Heard> {
  const isStream = STREAMS.test(answer.headers['content-type'] ?? '');
  const parts: Buffer[] = [];
  let size = 0;
  let isCut = false;
  const leave = () => {
    isCut = true;
    answer.destroy();
  };
  const timer = isStream ? setTimeout(leave, STREAM_MS) : undefined;
  try {
    for await (const part of answer) {
      parts.push(part as Buffer);
      size += (part as Buffer).length;
      if (size > MOST_READ) leave();
    }
  } catch (error) {
    if (!isCut) throw error;
  } finally {
    clearTimeout(timer);
  }
  const body = Buffer.concat(parts).toString('utf8');
  return { status: answer.statusCode ?? 0, headers: answer.headers, body, isCut };
}
