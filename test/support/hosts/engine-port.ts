// A way to a TCP port in an engine's own network: a port here, a Unix socket between, a relay in there. Bytes only.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { until } from '../until.ts';
import type { Engine } from './engine.ts';

export interface EnginePort {
  /** On 127.0.0.1. */
  port: number;
  close(): void;
}

/** The relay ends with the engine at the latest. */
export async function enginePort({ folder, init }: Engine, port: number): Promise<EnginePort> {
  const path = join(folder, `relay-${port}`);
  const enter = ['--target', String(init), '--net', '--pid', '--', process.execPath];
  const relay = spawn('nsenter', [...enter, '--eval', RELAY, path, `${port}`], { stdio: 'ignore', cwd: '/' });
  await until('a relay', () => existsSync(path));
  const server = createServer((near) => joined(near, connect(path)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.close();
      relay.kill('SIGKILL');
    },
  };
}

function joined(near: Socket, far: Socket): void {
  near.on('error', () => far.destroy()).on('close', () => far.destroy());
  // What came before its end is still handed on: it says why.
  far.on('error', () => near.end()).on('close', () => near.end());
  near.pipe(far).pipe(near);
}

const RELAY = `
  const { connect, createServer } = require('node:net');
  const [path, port] = process.argv.slice(1);
  createServer((near) => {
    const far = connect(Number(port), '127.0.0.1');
    near.on('error', () => far.destroy());
    far.on('error', () => near.end());
    near.pipe(far).pipe(near);
  }).listen(path);
`;
