// A host whose every address leads to one other host: whatever a program in a sandbox reaches, a server answers and notes it.
// The same servers listen on the host itself, on its loopback and on its own addresses.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { certificates } from '../certificates.ts';
import { removeFolder } from '../remove.ts';
import { type NetworkHost, network } from './network.ts';

const TARGET = join(import.meta.dirname, 'egress-target.py');
/** Names in the certificate of the servers. */
const NAMES = ['api', 'other', 'registry', 'pypi', 'git', 'rebind', 'both'].map(
  (name) => `${name}.example.com`,
);

export interface EgressNetwork {
  /** Of the host on which the server runs. */
  readonly address: string;
  /** The address of this machine, as that host sees it. */
  readonly gateway: string;
  /** Begins the arguments of `nsenter` for programs on that host. */
  readonly inside: readonly string[];
  /** For `startServer`: `svc serve` on that host. */
  readonly launch: { node: string; program: readonly string[]; env: Record<string, string> };
  /** PEM of the authority that signed the certificates of the servers. */
  readonly ca: string;
  /** `where address:port` of each connection that a server accepted, in order; `outside` or `host`. */
  reached(): string[];
  /** Host and path of each request. */
  requests(): string[];
  /** The header of each request that had one. */
  authorizations(): string[];
  /** Names that were looked up, in order. */
  lookups(): string[];
  /** Forgets what was noted. */
  clear(): void;
  remove(): void;
}

const KEY = 'egress-key-0123456789abcdef0123456789abcdef';
export const egressKey = { 'x-api-key': KEY };

/** An address of the host that is neither private nor of a loopback. */
export const OWN_PUBLIC = '93.184.216.99';
/** Addresses that the host answers although no interface in use has them: of one without a cable, and of a block that is routed to it. */
export const OWN_HIDDEN = ['93.184.216.98', '93.184.217.7'];

interface Noted {
  where: string;
  address?: string;
  port?: number;
  event?: string;
  host?: string;
  path?: string;
  authorization?: string;
  lookup?: string;
}

/** `names` are the addresses of each name; a list of lists is one for each look-up. Needs root. */
export async function egressNetwork(
  cli: string,
  names: (own: string) => Record<string, readonly string[] | readonly (readonly string[])[]>,
): Promise<EgressNetwork> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-egress-'));
  const { gateway, host, remove } = network();
  const [server, outside] = [host('svc'), host('net')];
  leadEverywhere(server, outside);
  const made = certificates(
    folder,
    [...NAMES, 'example.com'].map((name) => `DNS:${name}`),
  );
  const [log, root] = [join(folder, 'log'), join(folder, 'root')];
  writeFileSync(log, '');
  mkdirSync(root);
  repository(root);
  const facts = { log, root, ...made.server };
  const children = await Promise.all([
    serving(outside, { ...facts, where: 'outside', names: names(server.address) }),
    serving(server, { ...facts, where: 'host', names: {} }),
  ]);
  const noted = () =>
    readFileSync(log, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line): Noted => JSON.parse(line));
  return {
    address: server.address,
    gateway,
    inside: server.inside,
    launch: {
      node: 'nsenter',
      program: [...server.inside, process.execPath, cli, 'serve'],
      env: {
        SVC_SERVER_HOST: server.address,
        ...{ SVC_AUTH_ENABLED: 'true', SVC_AUTH_API_KEY: KEY, SVC_AUTH_ADMIN_API_KEY: `${KEY}-admin` },
        SVC_EGRESS_RESOLVER: outside.address,
      },
    },
    ca: readFileSync(made.ca, 'utf8'),
    reached: () =>
      noted()
        .filter(({ event }) => event === 'connected')
        .map(({ where, address, port }) => `${where} ${address}:${port}`),
    requests: () => noted().flatMap(({ path, host: name }) => (path === undefined ? [] : [`${name}${path}`])),
    authorizations: () => noted().flatMap(({ authorization }) => authorization ?? []),
    lookups: () => noted().flatMap(({ lookup }) => lookup ?? []),
    clear: () => writeFileSync(log, ''),
    remove: () => {
      for (const child of children) child.kill('SIGKILL');
      remove();
      removeFolder(folder);
    },
  };
}

const ip = (...args: string[]) => execFileSync('ip', args, { stdio: ['ignore', 'pipe', 'pipe'] });

/** Routes of the first host end at the second, where every address is local. */
function leadEverywhere(from: NetworkHost, to: NetworkHost): void {
  const [one, two] = [namespaceOf(from), namespaceOf(to)];
  const six = (host: string, address: string) =>
    ip('-n', host, '-6', 'addr', 'add', `${address}/64`, 'dev', 'eth0', 'nodad');
  six(one, 'fd77::2');
  six(two, 'fd77::3');
  ip('-n', one, 'addr', 'add', `${OWN_PUBLIC}/32`, 'dev', 'lo');
  // As an engine's bridge without containers: it has no cable.
  ip('-n', one, 'link', 'add', 'idle', 'type', 'bridge');
  ip('-n', one, 'addr', 'add', `${OWN_HIDDEN[0]}/32`, 'dev', 'idle');
  ip('-n', one, 'link', 'set', 'idle', 'up');
  ip('-n', one, 'route', 'add', 'local', '93.184.217.0/28', 'dev', 'lo');
  ip('-n', one, 'route', 'add', 'default', 'via', to.address);
  ip('-n', one, '-6', 'route', 'add', 'default', 'via', 'fd77::3');
  // In the table main: the addresses of the cable stay with their owners.
  ip('-n', two, 'route', 'add', 'local', '0.0.0.0/0', 'dev', 'lo', 'table', 'main');
  ip('-n', two, '-6', 'route', 'add', 'local', '::/0', 'dev', 'lo', 'table', 'main');
}

const namespaceOf = ({ inside }: NetworkHost) => String(inside[0]?.split('/').at(-1));

/** Git clones it without a program on its side. */
function repository(root: string): void {
  const bare = join(root, 'repo.git');
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@example.com', ...args], { stdio: 'pipe' });
  const work = mkdtempSync(join(tmpdir(), 'svc-egress-git-'));
  git('init', '-q', '-b', 'main', work);
  writeFileSync(join(work, 'README'), 'hello from git\n');
  git('-C', work, 'add', '.');
  git('-C', work, 'commit', '-qm', 'first');
  git('clone', '-q', '--bare', work, bare);
  git('-C', bare, 'update-server-info');
  removeFolder(work);
}

async function serving({ inside }: NetworkHost, options: object): Promise<ChildProcess> {
  const args = [...inside, '/usr/bin/python3', TARGET, JSON.stringify(options)];
  const child = spawn('nsenter', args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (data) => {
    errors += data;
  });
  await new Promise<void>((resolve, reject) => {
    child.stdout.once('data', () => resolve());
    child.once('exit', (code) => reject(new Error(`the servers outside ended with ${code}: ${errors}`)));
  });
  return child;
}
