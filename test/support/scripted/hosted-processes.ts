// The processes of a sandbox of the scripted hosted backend, as the program inside such a sandbox serves them: all in one
// namespace of their own, listed, connected to and signalled by the numbers that they have there.
import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { jail } from '../servers/custom-backend.ts';

interface Config {
  cmd: string;
  args: string[];
  envs: Record<string, string>;
  cwd?: string;
}

interface Running {
  pid: number;
  config: Config;
  child: ChildProcess;
  /** The device, of a terminal. */
  tty: string;
  /** `event` for each message of its course. */
  told: EventEmitter;
}

export interface Inside {
  running: Map<number, Running>;
  /** Runs words in it, as if from outside. */
  enter(words: readonly string[], options?: { cwd?: string; env?: Record<string, string> }): ChildProcess;
  close(): Promise<void>;
}

/** The name of a signal as Go has it. */
const SIGNALS: Record<number, string> = { 9: 'killed', 10: 'user defined signal 1', 15: 'terminated' };

/** Tells what it is called inside, and what terminal it has, before it becomes the program. */
const TELLING = 'printf "%s %s\\n" $$ "$(readlink /proc/self/fd/0)" >&3; exec 3>&-; exec "$@"';

export async function openInside(folder: string): Promise<Inside> {
  const [file = '', ...args] = [...jail({ folder }, '/workspace'), 'sleep', 'infinity'];
  const init = spawn(file, ['--info-fd', '3', ...args], { stdio: ['ignore', 'ignore', 'inherit', 'pipe'] });
  const gone = once(init, 'close');
  const { 'child-pid': first } = JSON.parse((await buffer(init.stdio[3] as Readable)).toString());
  const inside: Inside = {
    running: new Map(),
    enter: (words, { cwd = '/workspace', env = {} } = {}) => {
      const into = ['-t', String(first), '-m', '-p', `--wd=/proc/${first}/root${cwd}`, '--', ...words];
      return spawn('nsenter', into, {
        stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
        env: { PATH: process.env.PATH, ...env },
      });
    },
    // Its first process: bwrap's own end reaches that only once it has set itself up. All others and bwrap go with it.
    close: async () => {
      if (init.exitCode === null && init.signalCode === null) process.kill(first, 'SIGKILL');
      await gone;
    },
  };
  return inside;
}

/** A frame of Connect: flags, length, JSON. */
export function frame(message: object, flags = 0): Buffer {
  const body = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(5);
  head.writeUInt8(flags);
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
}

type Work = (inside: Inside, req: IncomingMessage, res: ServerResponse) => Promise<unknown>;

interface Asked {
  process: { pid: number };
  input?: { stdin?: string; pty?: string };
  signal?: string;
  pty?: { size: Size };
}

interface Size {
  rows?: number;
  cols?: number;
}

const bodyOf = async (req: IncomingMessage): Promise<Asked> => JSON.parse((await buffer(req)).toString());
const framed = async (req: IncomingMessage) => JSON.parse((await buffer(req)).subarray(5).toString());

/** Throws as for a file that is not there. */
function find({ running }: Inside, pid: number): Running {
  const found = running.get(pid);
  if (!found) throw Object.assign(new Error('none'), { code: 'ESRCH' });
  return found;
}

export const PROCESSES: Record<string, Work> = {
  '/process.Process/Start': async (inside, req, res) => {
    const { process: config, stdin, pty } = await framed(req);
    const one = await start(inside, { config, stdin, size: pty?.size });
    const course = follow(one, res);
    converse(inside, one);
    await course;
  },
  '/process.Process/Connect': async (inside, req, res) => {
    const { process: at } = await framed(req);
    const found = inside.running.get(at.pid);
    if (!found) return refuse(res);
    await follow(found, res);
  },
  '/process.Process/List': async ({ running }) => ({
    processes: [...running.values()].map(({ pid, config }) => ({ pid, config })),
  }),
  '/process.Process/SendInput': async (inside, req) => {
    const { process: at, input } = await bodyOf(req);
    find(inside, at.pid).child.stdin?.write(Buffer.from(input?.stdin ?? input?.pty ?? '', 'base64'));
  },
  '/process.Process/CloseStdin': async (inside, req) =>
    void find(inside, (await bodyOf(req)).process.pid).child.stdin?.end(),
  '/process.Process/SendSignal': async (inside, req) => {
    const { pid } = find(inside, (await bodyOf(req)).process.pid);
    // Inside its namespace: a number can reach nobody else. With its group, where it leads one.
    const line = 'kill -KILL -- "-$1" 2>/dev/null || kill -KILL -- "$1"';
    await once(inside.enter(['bash', '-c', line, 'bash', String(pid)]), 'close');
  },
  '/process.Process/Update': async (inside, req) => {
    const { process: at, pty } = await bodyOf(req);
    const { tty } = find(inside, at.pid);
    await once(inside.enter(['stty', '-F', tty, ...sizeWords(pty?.size ?? {})]), 'close');
  },
};

const sizeWords = ({ rows = 24, cols = 80 }: Size) => ['rows', String(rows), 'cols', String(cols)];

interface Starting {
  config: Config;
  stdin?: boolean;
  size?: Size;
}

async function start(inside: Inside, { config, stdin, size }: Starting): Promise<Running> {
  const telling = [...(size ? [] : ['setsid']), '/bin/sh', '-c', TELLING, 'sh', config.cmd, ...config.args];
  const sized = size
    ? ['/bin/sh', '-c', `stty ${sizeWords(size).join(' ')}; exec "$@"`, 'sh', ...telling]
    : telling;
  const words = size ? ['script', '-qefc', `exec ${sized.map(quoted).join(' ')}`, '/dev/null'] : sized;
  const child = inside.enter(words, { cwd: config.cwd ?? '/workspace', env: config.envs });
  child.on('error', () => undefined);
  child.stdin?.on('error', () => undefined);
  if (!stdin && !size) child.stdin?.end();
  const [told = ''] = await once(child.stdio[3] as Readable, 'data').then(
    ([data]) => [String(data)],
    () => [],
  );
  const [pid = '0', tty = ''] = told.trim().split(' ');
  const one: Running = { pid: Number(pid), config, child, tty, told: new EventEmitter() };
  one.told.setMaxListeners(0);
  inside.running.set(one.pid, one);
  return one;
}

const quoted = (word: string) => `'${word.replaceAll("'", "'\\''")}'`;

/** Reads as fast as the slowest who listens, as the real one does. */
function converse({ running }: Inside, { pid, child, tty, told }: Running): void {
  const pass = async (stream: Readable, name: string) => {
    for await (const data of stream) {
      const waits: Promise<unknown>[] = [];
      told.emit('event', { data: { [name]: data.toString('base64') } }, waits);
      await Promise.all(waits);
    }
  };
  const isTerminal = tty.startsWith('/dev/pts/');
  const ended = once(child, 'close');
  const both = [
    pass(child.stdout as Readable, isTerminal ? 'pty' : 'stdout'),
    pass(child.stderr as Readable, 'stderr'),
  ];
  void Promise.allSettled([ended, ...both]).then(() => {
    running.delete(pid);
    told.emit('event', { end: endOf(child) }, []);
  });
}

/** As os.ProcessState of Go has it. nsenter and script end as what they ran did, or say so by 128 and the signal. */
function endOf({ exitCode, signalCode }: ChildProcess): object {
  const number = signalCode
    ? { SIGKILL: 9, SIGTERM: 15, SIGUSR1: 10 }[signalCode as string]
    : (exitCode ?? 0) - 128;
  const name = SIGNALS[number ?? 0];
  if (name) return { exitCode: -1, exited: false, status: `signal: ${name}`, error: `signal: ${name}` };
  const error = exitCode ? { error: `exit status ${exitCode}` } : {};
  return { exitCode: exitCode ?? 0, exited: true, status: `exit status ${exitCode}`, ...error };
}

async function follow({ pid, told }: Running, res: ServerResponse): Promise<void> {
  res.writeHead(200, { 'content-type': 'application/connect+json' });
  const gone = once(res, 'close').catch(() => undefined);
  const say = async (event: object) => {
    if (!res.writableEnded && !res.destroyed && !res.write(frame({ event })))
      await Promise.race([once(res, 'drain'), gone]).catch(() => undefined);
  };
  const hear = (event: { end?: object }, waits: Promise<unknown>[]) => {
    waits.push(say(event));
    if (event.end) res.end(frame({}, 2));
  };
  void say({ start: { pid } });
  told.on('event', hear);
  await gone;
  told.off('event', hear);
}

function refuse(res: ServerResponse): void {
  res.writeHead(200, { 'content-type': 'application/connect+json' });
  res.end(frame({ error: { code: 'not_found', message: 'text-of-the-backend' } }, 2));
}
