// A real HAProxy before several servers: each request goes to the next one.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { debianLibraries, debianProgram } from '../hosts/debian-program.ts';
import { until } from '../until.ts';

export interface Balancer {
  url: string;
  stop(): Promise<void>;
}

export interface BalancerOptions {
  /** For its configuration. */
  folder: string;
  /** 127.0.0.1 by default. */
  host?: string;
  port: number;
  servers: readonly string[];
}

/** Resolves when it answers. A server that refuses connections gets no requests; one that is silent gets none after 15 s. */
export async function startBalancer({
  folder,
  host = '127.0.0.1',
  port,
  servers,
}: BalancerOptions): Promise<Balancer> {
  const file = join(folder, 'haproxy.cfg');
  writeFileSync(file, configuration(`${host}:${port}`, servers));
  const command = debianProgram('haproxy', ['haproxy']);
  if (command === undefined) throw new Error('This host has no HAProxy.');
  const child = spawn(command, ['-db', '-f', file], {
    env: { PATH: process.env.PATH, ...debianLibraries('haproxy') },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'exit');
  let log = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      if (log.length < 100_000) log += text;
    });
  const url = `http://${host}:${port}`;
  const stop = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  const answers = () =>
    fetch(`${url}/api/v1/live`)
      .then(({ status }) => status === 200)
      .catch(() => false);
  try {
    await until('HAProxy answers', () => {
      if (child.exitCode !== null) throw new Error(`HAProxy ended:\n${log}`);
      return answers();
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, stop };
}

/** A client that leaves ends its request at the server (`abortonclose`); otherwise HAProxy would wait for the answer. */
const configuration = (address: string, servers: readonly string[]) => `global
  maxconn 4000
defaults
  mode http
  timeout connect 5s
  timeout check 5s
  timeout client 1h
  timeout server 1h
  timeout tunnel 1h
  option forwardfor
  option abortonclose
  option redispatch
  retries 3
frontend clients
  bind ${address}
  use_backend watchers if { path_beg /filesystem.Filesystem/ } { path_end CreateWatcher GetWatcherEvents RemoveWatcher }
  default_backend replicas
${backend('replicas', 'roundrobin', servers)}
${backend('watchers', 'hdr(E2b-Sandbox-Id)', servers)}
`;

const backend = (name: string, balance: string, servers: readonly string[]) => `backend ${name}
  balance ${balance}
  option httpchk GET /api/v1/live
  default-server check inter 500ms fall 3 rise 1
${servers.map((url, n) => `  server r${n + 1} ${new URL(url).host}`).join('\n')}`;
