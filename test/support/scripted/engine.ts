// An engine that does what a test says, on a Unix socket: answers, refusals, answers that never end or break off.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from '../temporary.ts';

export type Answer = (response: ServerResponse, request: IncomingMessage) => void;

export interface ScriptedEngine {
  socket: string;
  /** `METHOD /path` without its query, in order. */
  seen: string[];
  /** What the next calls of `METHOD /path` get; the last one stays. */
  on(call: string, ...answers: Answer[]): void;
  /** What an attach gets. */
  onUpgrade(take: (socket: Duplex) => void): void;
}

/** Ends with the test. A call nobody scripted is a 404. */
export async function scriptedEngine(): Promise<ScriptedEngine> {
  const socket = join(temporaryFolder(), 's');
  const scripts = new Map<string, Answer[]>();
  const seen: string[] = [];
  let upgrade = (each: Duplex): void => {
    each.destroy();
  };
  const name = ({ method, url }: IncomingMessage) => `${method} ${url?.split('?')[0]}`;
  const server = createServer((request, response) => {
    seen.push(name(request));
    request.resume();
    const left = scripts.get(name(request)) ?? [status(404, { message: 'nothing here' })];
    const answer = left.length > 1 ? left.shift() : left[0];
    answer?.(response, request);
  }).on('upgrade', (request, each) => {
    seen.push(name(request));
    each.on('error', () => undefined);
    upgrade(each);
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    socket,
    seen,
    on: (call, ...answers) => void scripts.set(call, answers),
    onUpgrade: (take) => {
      upgrade = take;
    },
  };
}

export const status =
  (code: number, body?: unknown): Answer =>
  (response) => {
    response.writeHead(code, { 'Content-Type': 'application/json' });
    response.end(body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body));
  };

export const hang: Answer = () => undefined;

export const reset: Answer = (response) => void response.socket?.destroy();

/** Half of what was announced, then the connection breaks. */
export const brokenOff: Answer = (response) => {
  response.writeHead(200, { 'Content-Length': '100' });
  response.write('{"Id":', () => response.socket?.destroy());
};

export const endless: Answer = (response) => {
  response.writeHead(200);
  const more = () => {
    while (!response.destroyed && response.write('x'.repeat(65_536)));
  };
  response.on('drain', more);
  more();
};
