// A lock of the kernel on an open file. Node has no call for it, so a small program takes it on a descriptor that it is
// handed, or takes from us: flock(2) belongs to the opening that both share, and stays when the program ends.
import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { ServiceError } from '../domain/errors.ts';

const DEADLINE_MS = 10_000;
const TAKEN = 1;

/**
 * Locks the file that is open as `fd` for as long as this descriptor is open, by `svc-agent` at `program`. False when
 * another opening of the same file has the lock, by whatever name. Throws `unavailable`, whose subject is `what`, when it
 * cannot be taken at all.
 */
export async function lockFile(program: string, fd: number, what = 'The database file'): Promise<boolean> {
  const child = spawn(program, ['lock-file'], {
    stdio: [fd, 'ignore', 'ignore'],
    env: {},
    timeout: DEADLINE_MS,
    killSignal: 'SIGKILL',
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', (cause) => reject(notTaken(what, cause)));
    child.once('exit', resolve);
  });
  if (code === 0) return true;
  if (code === TAKEN) return false;
  throw notTaken(what, new Error(`svc-agent lock-file ended with ${code}`));
}

/** As `lockFile`, for callers who lock often: one program takes the locks of this process, and ends after 5 s without a request. */
export async function lockFileOften(program: string, fd: number, what: string): Promise<boolean> {
  let locker = lockers.get(program);
  if (!locker) {
    locker = new Locker(program);
    lockers.set(program, locker);
  }
  const answer = await locker.lock(fd);
  if (answer === LOCKED) return true;
  if (answer === HELD) return false;
  return lockFile(program, fd, what);
}

const LOCKED = '0';
const HELD = '1';
/** A kernel before Linux 5.6, or one whose rules keep a child from taking descriptors of its parent (ptrace(2), Yama). */
const NO_ACCESS = '3';
const lockers = new Map<string, Locker>();

/** `svc-agent lock-files`. The lock belongs to the caller's opening, so another program can replace this one at any time. */
class Locker {
  private child: ChildProcess | undefined;
  private readonly waiting: ((answer: string | undefined) => void)[] = [];
  private readonly program: string;
  private isUseless = false;

  constructor(program: string) {
    this.program = program;
  }

  /** Undefined when it could not answer within the deadline. */
  lock(fd: number): Promise<string | undefined> {
    if (this.isUseless) return Promise.resolve(undefined);
    const child = this.child ?? this.start();
    return new Promise((resolve) => {
      const late = setTimeout(() => child.kill('SIGKILL'), DEADLINE_MS);
      this.waiting.push((answer) => {
        clearTimeout(late);
        resolve(answer);
      });
      keepsRunning(child, true);
      const number = Buffer.alloc(4);
      number.writeInt32LE(fd);
      child.stdin?.write(number);
    });
  }

  private start(): ChildProcess {
    const child = spawn(this.program, ['lock-files'], {
      stdio: ['pipe', 'pipe', 'ignore'],
      env: {},
      cwd: '/',
    });
    const end = () => {
      if (this.child !== child) return;
      this.child = undefined;
      for (const answered of this.waiting.splice(0)) answered(undefined);
    };
    this.child = child;
    child.once('error', end).once('exit', end);
    child.stdin?.on('error', () => undefined);
    child.stdout?.on('error', () => undefined);
    child.stdout?.setEncoding('latin1').on('data', (answers: string) => {
      for (const answer of answers) this.take(child, answer);
    });
    return child;
  }

  private take(child: ChildProcess, answer: string): void {
    // The output of a program that ended can arrive after its replacement has started.
    if (this.child !== child) return;
    this.isUseless ||= answer === NO_ACCESS;
    this.waiting.shift()?.(answer);
    if (this.waiting.length === 0) keepsRunning(child, false);
  }
}

/** Whether this process waits for it before it ends. */
function keepsRunning(child: ChildProcess, isWaited: boolean): void {
  for (const handle of [child, child.stdin as Socket | null, child.stdout as Socket | null])
    if (isWaited) handle?.ref();
    else handle?.unref();
}

const notTaken = (what: string, cause: unknown) =>
  new ServiceError('unavailable', `${what} cannot be locked.`, {
    cause,
    remedy: 'Put it on a local disk. Check that the svc-agent in this package is executable.',
  });
