// A monitor whose words a test writes: it listens on a socket of a temporary folder and never speaks by itself.
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from '../temporary.ts';

export const GREETING = { QMP: { version: {}, capabilities: [] } };

export interface ScriptedMonitor {
  path: string;
  /** The first caller, once there. */
  called: Promise<Socket>;
  say(...messages: (object | string)[]): Promise<void>;
  /** The next command that came in, whole. */
  heard(): Promise<{ execute: string; arguments?: object; id: number }>;
  /** Greets and agrees to the capabilities. */
  greet(): Promise<void>;
}

export async function scriptedMonitor(): Promise<ScriptedMonitor> {
  const path = join(temporaryFolder(), 'qmp.sock');
  const lines: string[] = [];
  const readers: ((line: string) => void)[] = [];
  let call: (socket: Socket) => void;
  const called = new Promise<Socket>((resolve) => {
    call = resolve;
  });
  const server = createServer((socket) => {
    let rest = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      const parts = (rest + text).split('\n');
      rest = parts.pop() ?? '';
      for (const line of parts) readers.length > 0 ? readers.shift()!(line) : lines.push(line);
    });
    socket.on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
    call(socket);
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const say = async (...messages: (object | string)[]) => {
    const socket = await called;
    for (const message of messages)
      socket.write(typeof message === 'string' ? message : `${JSON.stringify(message)}\r\n`);
  };
  const heard = async () => {
    const line = lines.shift() ?? (await new Promise<string>((resolve) => readers.push(resolve)));
    return JSON.parse(line);
  };
  const greet = async () => {
    await say(GREETING);
    await say({ return: {}, id: (await heard()).id });
  };
  return { path, called, say, heard, greet };
}
