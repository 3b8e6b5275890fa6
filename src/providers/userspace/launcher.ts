// The client of `svc-agent launcher`, which forks once for each sandbox: starting a program from a process of this size
// takes longer than the sandbox does. It is started on first use and again after it died.
import type { Clock } from '../../domain/ports.ts';
import type { Companion, Host } from '../../host/host.ts';

/** Longer than the launch's own deadline. */
const ANSWER_MS = 20_000;
const HEAD = 4;
const LEAST = 5;
const MOST = 4096;

interface LaunchAnswer {
  ok: boolean;
  /** Warnings, a line each, or the reason. */
  text: string;
}

export interface Launcher {
  /**
   * Settles when the sandbox runs, or when nothing of it is left or will start: a launcher that does not answer is killed
   * first. Rejects with the signal's reason after an abort.
   */
  launch(settings: Buffer, signal: AbortSignal): Promise<LaunchAnswer>;
  /** Launches that run end by themselves. Idempotent. */
  close(): void;
}

/** A started launcher and the launches that wait for its answers. */
interface StartedLauncher {
  stdin: Companion['stdin'];
  waiting: Map<number, (answer: LaunchAnswer) => void>;
  /** Ends it: waiting launches fail with `why`, and the next launch starts another. */
  hangUp(why: string): void;
}

/** `agent` names the program. */
export function openLauncher(
  host: Pick<Host, 'accompany'>,
  clock: Clock,
  agent: () => Promise<string>,
): Launcher {
  let line: StartedLauncher | undefined;
  let numbers = 0;
  const open = async (): Promise<StartedLauncher> => {
    const path = await agent();
    line ??= connectTo(host.accompany(path, ['launcher']), () => {
      line = undefined;
    });
    return line;
  };
  return {
    async launch(settings, signal) {
      const { stdin, waiting, hangUp } = await open();
      signal.throwIfAborted();
      numbers = (numbers + 1) % 0xffff_ffff;
      const number = numbers;
      const giveUp = () => stdin.write(request(number, Buffer.alloc(0)));
      const timer = clock.after(ANSWER_MS, () => hangUp('the launcher does not answer'));
      signal.addEventListener('abort', giveUp, { once: true });
      try {
        const answer = await new Promise<LaunchAnswer>((resolve) => {
          waiting.set(number, resolve);
          stdin.write(request(number, settings));
        });
        signal.throwIfAborted();
        return answer;
      } finally {
        waiting.delete(number);
        timer.cancel();
        signal.removeEventListener('abort', giveUp);
      }
    },
    close: () => void line?.stdin.end(),
  };
}

function request(number: number, settings: Buffer): Buffer {
  const head = Buffer.alloc(2 * HEAD);
  head.writeUInt32LE(HEAD + settings.length, 0);
  head.writeUInt32LE(number, HEAD);
  return Buffer.concat([head, settings]);
}

/** Reports failures after the launcher and all its launches have ended (launcher.c); answers also while it is being ended. */
function connectTo({ stdin, stdout, ended, kill }: Companion, forget: () => void): StartedLauncher {
  const waiting: StartedLauncher['waiting'] = new Map();
  let rest: Buffer | undefined = Buffer.alloc(0);
  let reason = 'the launcher ended';
  const hangUp = (why: string) => {
    reason = why;
    forget();
    kill();
  };
  stdout.on('data', (chunk: Buffer) => {
    if (!rest) return;
    rest = deliver(Buffer.concat([rest, chunk]), waiting);
    if (!rest) hangUp('the launcher does not keep to its form');
  });
  void ended.then(() => {
    forget();
    for (const settle of waiting.values()) settle({ ok: false, text: reason });
  });
  return { stdin, waiting, hangUp };
}

/** Delivers complete answers. Returns the remaining bytes, or undefined for invalid ones. */
function deliver(bytes: Buffer, waiting: StartedLauncher['waiting']): Buffer | undefined {
  let at = 0;
  while (bytes.length - at >= HEAD) {
    const length = bytes.readUInt32LE(at);
    if (length < LEAST || length > MOST) return undefined;
    if (bytes.length - at < HEAD + length) break;
    const number = bytes.readUInt32LE(at + HEAD);
    const ok = bytes.readUInt8(at + 2 * HEAD) === 0;
    waiting.get(number)?.({ ok, text: bytes.toString('utf8', at + 2 * HEAD + 1, at + HEAD + length) });
    at += HEAD + length;
  }
  return bytes.subarray(at);
}
