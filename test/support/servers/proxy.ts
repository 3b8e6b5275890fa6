// The files of deploy/ in the real proxies, on free ports before a server: Caddy's as it is shipped, told by its environment;
// nginx has no such thing, so what the file asks to be changed is changed.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Pair } from '../certificates.ts';
import { freePort } from '../free-port.ts';
import { until } from '../until.ts';
import { packageRoot } from './server.ts';

export interface ProxySetup {
  /** Its own. */
  folder: string;
  pair: Pair;
  upstreamPort: number;
}

export interface RunningProxy {
  /** Of TLS. */
  port: number;
  /** Of plain HTTP, which is sent on. */
  plainPort: number;
  stop(): Promise<void>;
}

interface Program {
  command: string;
  check: readonly string[];
  run: readonly string[];
  env: Record<string, string>;
}

/** Checks the file with the program itself, then resolves when it takes connections. */
export async function startProxy(kind: 'caddy' | 'nginx', setup: ProxySetup): Promise<RunningProxy> {
  const [port, plainPort] = [await freePort(), await freePort()];
  mkdirSync(setup.folder);
  // The workers of nginx are not root.
  chmodSync(setup.folder, 0o711);
  const { command, check, run, env } = (kind === 'caddy' ? caddy : nginx)(setup, { port, plainPort });
  const whole = { PATH: process.env.PATH ?? '', HOME: setup.folder, ...env };
  execFileSync(command, check, { env: whole, stdio: 'pipe' });
  const stop = await runProxy(command, run, { port, env: whole });
  return { port, plainPort, stop };
}

/** Starts the program, and resolves with how to stop it when it takes connections on `port`. */
export async function runProxy(
  command: string,
  args: readonly string[],
  { port, env }: { port: number; env: Record<string, string> },
): Promise<() => Promise<void>> {
  const child = spawn(command, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(child, 'exit');
  let log = '';
  child.stderr.on('data', (text) => {
    log += text;
  });
  await until(`${command} listens`, () => {
    if (child.exitCode !== null) throw new Error(`${command} ended:\n${log}`);
    return takes(port);
  });
  return async () => {
    child.kill('SIGTERM');
    await ended;
  };
}

/** What nginx needs to keep its temporary files in `folder`. */
export const nginxFolders = (folder: string): string =>
  ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((each) => `${each}_temp_path ${join(folder, each)};`)
    .join(' ');

type Ports = Pick<RunningProxy, 'port' | 'plainPort'>;

function caddy({ folder, pair, upstreamPort }: ProxySetup, { port, plainPort }: Ports): Program {
  const file = join(folder, 'Caddyfile');
  writeFileSync(
    file,
    `{
	admin off
	storage file_system ${folder}
	http_port ${plainPort}
	https_port ${port}
	default_bind 127.0.0.1
	skip_install_trust
}
import ${join(packageRoot, 'deploy/Caddyfile')}
`,
  );
  const config = ['--config', file, '--adapter', 'caddyfile'];
  return {
    command: 'caddy',
    check: ['validate', ...config],
    run: ['run', ...config],
    env: {
      SVC_PROXY_CERT: pair.cert,
      SVC_PROXY_KEY: pair.key,
      SVC_PROXY_UPSTREAM: `127.0.0.1:${upstreamPort}`,
    },
  };
}

function nginx({ folder, pair, upstreamPort }: ProxySetup, { port, plainPort }: Ports): Program {
  const changes = [
    ['listen 443 ', `listen 127.0.0.1:${port} `],
    ['listen 80;', `listen 127.0.0.1:${plainPort};`],
    ['listen [::]:443 ssl http2;', ''],
    ['listen [::]:80;', ''],
    ['/etc/ssl/svc/fullchain.pem', pair.cert],
    ['/etc/ssl/svc/privkey.pem', pair.key],
    ['http://127.0.0.1:7423', `http://127.0.0.1:${upstreamPort}`],
  ] as const;
  const file = join(folder, 'nginx.conf');
  writeFileSync(
    file,
    `daemon off; pid ${join(folder, 'pid')}; error_log stderr;
events {}
http { ${nginxFolders(folder)}
${changes.reduce((text, [from, to]) => replaced(text, from, to), shipped('nginx.conf'))}
}
`,
  );
  const config = ['-e', 'stderr', '-c', file];
  return { command: 'nginx', check: ['-t', ...config], run: config, env: {} };
}

const shipped = (name: string) => readFileSync(join(packageRoot, 'deploy', name), 'utf8');

function replaced(text: string, from: string, to: string): string {
  if (text.split(from).length !== 2) throw new Error(`the file does not say "${from}" once`);
  return text.replace(from, to);
}

function takes(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
