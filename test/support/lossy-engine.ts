// A way to an engine that loses what a test says: the engine hears every call, its answer may never arrive.
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from './temporary.ts';

export interface LossyEngine {
  socket: string;
  /** The answers to the next `times` calls of `METHOD /path` are lost, each when the engine has given it. */
  lose(call: string, times: number): void;
  /** How many answers of `METHOD /path` are being given. */
  open(call: string): number;
  /** Breaks them off. */
  cut(call: string): void;
}

/** Ends with the test. */
export async function lossyEngine(engine: string): Promise<LossyEngine> {
  const socket = join(temporaryFolder(), 's');
  const losses = new Map<string, number>();
  const open = new Set<{ call: string; response: ServerResponse }>();
  const callOf = ({ method, url }: IncomingMessage) => `${method} ${url?.split('?')[0]}`;
  const given = (call: string) => [...open].filter((one) => one.call === call && !one.response.destroyed);
  const answer = (asked: IncomingMessage, response: ServerResponse) => {
    const { method, url: path, headers } = asked;
    const call = callOf(asked);
    const onward = request({ socketPath: engine, agent: false, method, path, headers }, (answered) => {
      const left = losses.get(call) ?? 0;
      losses.set(call, left - 1);
      if (left > 0) return void answered.resume().on('end', () => response.destroy());
      open.add({ call, response });
      response.writeHead(answered.statusCode ?? 500, answered.headers).flushHeaders();
      answered.on('error', () => response.destroy()).pipe(response);
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    asked.pipe(onward);
  };
  const server = createServer(answer).on('upgrade', (asked, near, head) => attach(engine, asked, near, head));
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    socket,
    lose: (call, times) => void losses.set(call, times),
    open: (call) => given(call).length,
    cut: (call) => {
      for (const { response } of given(call)) response.destroy();
    },
  };
}

function attach(
  engine: string,
  { method, url, rawHeaders }: IncomingMessage,
  near: Duplex,
  head: Buffer,
): void {
  const far = connect(engine);
  const pairs = rawHeaders.flatMap((name, index) =>
    index % 2 === 0 ? [`${name}: ${rawHeaders[index + 1]}`] : [],
  );
  far.write(`${[`${method} ${url} HTTP/1.1`, ...pairs].join('\r\n')}\r\n\r\n`);
  far.write(head);
  near.on('error', () => far.destroy()).on('close', () => far.destroy());
  far.on('error', () => near.destroy()).on('close', () => near.destroy());
  near.pipe(far).pipe(near);
}
