// The inside of a sandbox in memory: files in a map, programs as functions. Ends when its runtime does.
import { setMaxListeners } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import type {
  Exec,
  ExecExit,
  ExecSpec,
  OutputChunk,
  PoolUser,
  SandboxFiles,
  SandboxIo,
  UserIo,
} from '../../../src/agent/io.ts';
import { ServiceError } from '../../../src/domain/errors.ts';
import type { FileInfo } from '../../../src/schema/file.ts';

/** What a program sees. It ends with what it returns; `killed` aborts when it should end. */
export interface FakeRun {
  spec: ExecSpec;
  write(channel: OutputChunk['channel'], data: string | Buffer): Promise<void>;
  /** All of standard input. */
  stdin: Promise<Buffer>;
  killed: AbortSignal;
}

export type FakeProgram = (run: FakeRun) => Promise<Partial<ExecExit>>;

/** What survives a session. */
export interface FakeInside {
  files: Map<string, Buffer>;
  /** By the last word of argv: the line of a shell, the program's last argument. */
  programs: Map<string, FakeProgram>;
  /** False: calls and pings are not answered. */
  answers: boolean;
  /** What the agent was told last: ms that are left, by uid (0: the entire sandbox); undefined: no end. */
  deadlines?: Map<number, number | undefined>;
  /** Uids of those who are in, and of all who ever were: a uid that comes twice is a tenant who sees another's. */
  tenants: Set<number>;
  everTenants: number[];
}

/** The one port that answers: with what is sent to it. */
export const FAKE_PORT = 80;

export interface FakeIo extends SandboxIo {
  /** As when the runtime dies. */
  die(): void;
}

const lost = () => new ServiceError('unavailable', 'The sandbox stopped answering.');
const missing = () => new ServiceError('not_found', 'No such file.');
const none = () => Promise.reject(new ServiceError('not_implemented', 'Not in this fake.'));

export function fakeIo(inside: FakeInside): FakeIo {
  const end = new AbortController();
  setMaxListeners(0, end.signal);
  const closed = new Promise<void>((resolve) => end.signal.addEventListener('abort', () => resolve()));
  const live = () => {
    if (end.signal.aborted || !inside.answers) throw lost();
  };
  const io: FakeIo = {
    exec: (spec, signal) => fakeExec(inside, spec, [end.signal, ...(signal ? [signal] : [])]),
    execs: { list: none, attach: none, signal: none },
    files: fakeFiles(inside.files, live),
    connect: async (port) => {
      live();
      if (port === FAKE_PORT) return new PassThrough();
      throw new ServiceError('unavailable', 'Nothing listens.', { status: 502 });
    },
    console: async function* () {},
    ping: async () => live(),
    setDeadline: async (leftMs) => {
      live();
      tell(inside, 0, leftMs);
    },
    close: () => end.abort(lost()),
    die: () => end.abort(lost()),
    closed,
    as: (user) => fakeUser(io, inside, user, live),
  };
  return io;
}

function tell(inside: FakeInside, uid: number, leftMs: number | undefined): void {
  inside.deadlines ??= new Map();
  inside.deadlines.set(uid, leftMs);
}

function fakeUser(io: FakeIo, inside: FakeInside, { uid }: PoolUser, live: () => void): UserIo {
  let close = () => {};
  const left = new Promise<void>((resolve) => {
    close = resolve;
  });
  return {
    ...io,
    enter: async () => {
      live();
      if (!inside.tenants.has(uid)) inside.everTenants.push(uid);
      inside.tenants.add(uid);
    },
    setDeadline: async (leftMs) => {
      live();
      tell(inside, uid, leftMs);
    },
    leave: async () => {
      live();
      inside.tenants.delete(uid);
    },
    close,
    closed: Promise.race([left, io.closed]),
  };
}

function fakeExec(inside: FakeInside, spec: ExecSpec, ends: AbortSignal[]): Exec {
  const kill = new AbortController();
  const output = fakeOutput();
  const stdin: Buffer[] = [];
  let endStdin = () => {};
  const whole = new Promise<Buffer>((resolve) => {
    endStdin = () => resolve(Buffer.concat(stdin));
  });
  if (!spec.stdin) endStdin();
  const program = inside.programs.get(spec.argv.at(-1) ?? '') ?? (async () => ({ exit_code: 127 }));
  const run = { spec, write: output.write, stdin: whole, killed: kill.signal };
  const cut = new Promise<never>((_, reject) => {
    for (const end of ends) {
      if (end.aborted) reject(end.reason);
      end.addEventListener('abort', () => reject(end.reason), { once: true });
    }
  });
  cut.catch(() => kill.abort());
  const exit = Promise.race([program(run), cut])
    .then((partial) => ({ exit_code: 0, timed_out: false, duration_ms: 5, ...partial }))
    .finally(() => output.end());
  exit.catch(() => undefined);
  return {
    exec_id: spec.exec_id,
    started: inside.answers ? Promise.resolve() : Promise.reject(lost()),
    stdin: { write: async (data) => void stdin.push(data), end: () => endStdin() },
    output: output.chunks,
    exit: inside.answers ? exit : rejected(lost()),
    kill: () => kill.abort(),
    resize: none,
  };
}

function rejected(error: Error): Promise<never> {
  const promise = Promise.reject(error);
  promise.catch(() => undefined);
  return promise;
}

/** A writer waits until what it wrote has been taken, as a program does behind a full pipe. */
function fakeOutput() {
  const waiting: { chunk: OutputChunk; taken: () => void }[] = [];
  let ended = false;
  let wake = () => {};
  async function* chunks(): AsyncGenerator<OutputChunk> {
    for (;;) {
      const next = waiting.shift();
      if (next) {
        yield next.chunk;
        next.taken();
      } else if (ended) return;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  }
  return {
    chunks: chunks(),
    write: (channel: OutputChunk['channel'], data: string | Buffer) =>
      new Promise<void>((taken) => {
        waiting.push({ chunk: { channel, data: Buffer.from(data) }, taken });
        wake();
      }),
    end: () => {
      ended = true;
      wake();
    },
  };
}

function fakeFiles(files: Map<string, Buffer>, live: () => void): SandboxFiles {
  const content = (path: string) => {
    live();
    const found = files.get(path);
    if (!found) throw missing();
    return found;
  };
  return {
    stat: async (path) => fileInfo(path, content(path).length),
    read: async (path, { offset, length }) => {
      const whole = content(path);
      const part = whole.subarray(offset, length === undefined ? undefined : offset + length);
      return { info: fileInfo(path, whole.length), content: Readable.from(part.length > 0 ? [part] : []) };
    },
    write: async (path, body) => {
      live();
      const pieces: Buffer[] = [];
      for await (const piece of Buffer.isBuffer(body) ? [body] : body) pieces.push(Buffer.from(piece));
      files.set(path, Buffer.concat(pieces));
      return { size: Buffer.concat(pieces).length, atomic: true };
    },
    list: async (path) => {
      live();
      return [...files]
        .filter(([name]) => name.startsWith(path))
        .map(([name, { length }]) => fileInfo(name, length));
    },
    glob: async (_pattern, limit) => [...files.keys()].sort().slice(0, limit),
    mkdir: async () => live(),
    move: async (from, to) => {
      files.set(to, content(from));
      files.delete(from);
    },
    chmod: async (path) => void content(path),
    remove: async (path) => {
      content(path);
      files.delete(path);
    },
  };
}

function fileInfo(path: string, size: number): FileInfo {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return { path, name, size, mode: '644', is_dir: false, type: 'file', mod_time: '2026-01-02T03:04:05.000Z' };
}
