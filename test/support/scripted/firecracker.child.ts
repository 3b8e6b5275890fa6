// Plays the firecracker program: takes its arguments and its API as strictly as it does, and for a guest runs the real
// svc-agent on this machine behind a vsock. `mood` says how it goes wrong. Runs as <folder> <agent> <arguments…>; the
// folder holds `mood` and gets `heard`, a line for each request and connection.
import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync, openSync, readFileSync, readSync } from 'node:fs';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const [folder = '', agent = '', ...args] = process.argv.slice(2);
const mood = readFileSync(join(folder, 'mood'), 'utf8');
const options = parseOptions(args);
const HEAD = 'svc-settings-v1\n';

type Body = Record<string, unknown>;
const FIELDS: Record<string, readonly string[]> = {
  '/machine-config': ['vcpu_count', 'mem_size_mib', 'smt', 'track_dirty_pages', 'cpu_template', 'huge_pages'],
  '/boot-source': ['kernel_image_path', 'initrd_path', 'boot_args'],
  '/drives': [
    ...['drive_id', 'path_on_host', 'is_root_device', 'is_read_only'],
    ...['partuuid', 'cache_type', 'rate_limiter', 'io_engine', 'socket'],
  ],
  '/entropy': ['rate_limiter'],
  '/vsock': ['guest_cid', 'uds_path', 'vsock_id'],
  '/actions': ['action_type'],
};

const given = new Map<string, Body>();
let isRunning = false;
let guest: ChildProcess | undefined;

if ('version' in options) say(mood === 'old' ? 'Firecracker v1.7.0\n' : 'Firecracker v1.12.1\n\nmore\n');
else if ('no-api' in options) trial();
else serve();

function parseOptions(words: string[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (let i = 0; i < words.length; i += 1) {
    const name = words[i]?.replace(/^--/, '') ?? '';
    if (name === 'version' || name === 'no-api') found[name] = '';
    else if (['api-sock', 'id', 'config-file'].includes(name)) found[name] = words[++i] ?? '';
    else quit(153, `Arguments parsing error: ${words[i]}`);
  }
  if (found.id !== undefined && !/^[A-Za-z0-9-]{1,64}$/.test(found.id)) quit(1, 'Invalid instance ID');
  return found;
}

function say(words: string): void {
  process.stdout.write(words);
}

function quit(code: number, words = ''): never {
  process.stderr.write(words);
  guest?.kill('SIGKILL');
  process.exit(code);
}

/** A guest without disks ends by itself; without KVM there is none. */
function trial(): void {
  const config = JSON.parse(readFileSync(options['config-file'] ?? '', 'utf8')) as Record<string, Body>;
  for (const [name, body] of Object.entries(config)) if (name !== 'drives') check(`/${name}`, body);
  process.exitCode = mood === 'no kvm' ? 1 : 0;
}

function serve(): void {
  const path = options['api-sock'] ?? quit(1, 'no socket');
  if (mood === 'garbled') return void createServer((socket) => socket.end('what?\r\n\r\n')).listen(path);
  createHttpServer((request, response) => void answer(request, response)).listen(path);
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let text = '';
  for await (const chunk of request) text += chunk;
  appendFileSync(join(folder, 'heard'), `${request.method} ${request.url} ${text}\n`);
  if (mood === 'silent') return;
  if (mood === 'huge') return endless(response);
  try {
    if (request.method === 'GET' && request.url === '/') return respond(response, 200, about());
    if (request.method !== 'PUT') throw new Error(`Invalid request method and/or path: ${request.url}`);
    await put(request.url ?? '', JSON.parse(text) as Body);
    response.writeHead(204).end();
  } catch (error) {
    respond(response, 400, { fault_message: (error as Error).message });
  }
}

function about(): object {
  const state = isRunning ? 'Running' : 'Not started';
  return { app_name: 'Firecracker', id: options.id, state, vmm_version: '1.12.1' };
}

function respond(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function endless(response: ServerResponse): void {
  const more = () => {
    while (!response.destroyed && response.write('x'.repeat(65_536)));
  };
  response.on('drain', more);
  more();
}

function check(path: string, body: Body): void {
  const kind = path.startsWith('/drives/') ? '/drives' : path;
  const fields = FIELDS[kind];
  if (!fields) throw new Error(`Invalid request method and/or path: ${path}`);
  for (const field of Object.keys(body))
    if (!fields.includes(field)) throw new Error(`unknown field \`${field}\``);
}

async function put(path: string, body: Body): Promise<void> {
  check(path, body);
  if (isRunning) throw new Error('The requested operation is not supported after starting the microVM.');
  if (path.startsWith('/drives/')) opened(path, body);
  if (path === '/boot-source') {
    if (mood === 'refuses') throw new Error('The kernel file cannot be opened: secret words');
    for (const key of ['kernel_image_path', 'initrd_path']) openSync(String(body[key]), 'r');
  }
  given.set(path, body);
  if (path === '/actions') await start(body);
}

function opened(path: string, body: Body): void {
  if (!/^\/drives\/\w+$/.test(path) || path !== `/drives/${body.drive_id}`) throw new Error('Invalid ID');
  body.fd = openSync(String(body.path_on_host), body.is_read_only ? 'r' : 'r+');
}

async function start({ action_type }: Body): Promise<void> {
  if (action_type !== 'InstanceStart' || !given.has('/boot-source')) throw new Error('Cannot start microvm.');
  if (mood === 'dies') quit(1, 'it hurts');
  isRunning = true;
  const settings = readSettings();
  const socket = join(folder, `${options.id}.sock`);
  const port = Number(settings.get('vsock_port'));
  createServer((host) => bridge(host, { port, socket })).listen(String(given.get('/vsock')?.uds_path));
  if (mood === 'resets') return void pause(300).then(() => quit(0));
  if (mood === 'deaf' || mood === 'chatters') return;
  await pause(50);
  const secret = settings.get('secret') ?? '';
  const words = ['--pdeathsig', 'KILL', agent, 'serve', '--listen', socket, '--secret-hex', secret];
  guest = spawn('setpriv', [...words, '--workdir', join(folder, 'work')], { stdio: 'ignore' });
}

function disk(size: number): Buffer {
  const bytes = Buffer.alloc(size);
  return bytes.subarray(0, readSync(Number(given.get('/drives/settings')?.fd), bytes, 0, size, 0));
}

function readSettings(): Map<string, string> {
  const bytes = disk(128 * 1024);
  if (bytes.length % 512 !== 0 || bytes.toString('latin1', 0, HEAD.length) !== HEAD) quit(1, 'no settings');
  const start = HEAD.length + 4;
  const text = bytes.toString('utf8', start, start + bytes.readUInt32LE(HEAD.length));
  const records = text.split('\0').slice(0, -1);
  return new Map(records.map((record) => [record.split('=')[0] ?? '', record.replace(/^[^=]*=/, '')]));
}

/** As Firecracker does it: a line asks, a line agrees, and who is not listening hangs up. */
function bridge(host: Socket, { port, socket }: { port: number; socket: string }): void {
  host.on('error', () => undefined);
  if (mood === 'deaf') return;
  if (mood === 'chatters') return void host.write('OK 1'.repeat(100_000));
  host.once('data', (line: Buffer) => {
    host.pause();
    appendFileSync(join(folder, 'heard'), `${line}settings ${disk(512).every((byte) => byte === 0)}\n`);
    if (String(line) !== `CONNECT ${port}\n`) return void host.destroy();
    const inside = connect(socket);
    inside.on('error', () => host.destroy()).on('close', () => host.destroy());
    host.on('close', () => inside.destroy());
    inside.once('connect', () => {
      host.write('OK 1073741824\n');
      host.pipe(inside).pipe(host);
    });
  });
}
