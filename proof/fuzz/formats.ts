// Every parser of bytes from outside, in a process of its own: whatever is in them, it gives what it may give or one of its own
// errors, and comes to an end. One that makes no progress is killed, which no promise in the same process could do.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { buildSync } from 'esbuild';
import { packageRoot } from '../../src/host/package-root.ts';
import type { OpenTarget, Outcome } from './campaign.ts';
import type { Chance } from './chance.ts';

/** The limit for a case, which takes milliseconds; an endless loop exceeds it. */
const PROGRESS_MS = 20_000;

export const formats = { width: 1, open: async () => openFormats('proof/fuzz/formats.child.ts') };

interface Reader {
  child: ChildProcessByStdio<Writable, Readable, null>;
  lines: Interface;
}

/** `entry`: a program that answers each seed, a line of its input, with the line of an outcome. */
export function openFormats(entry: string, progressMs = PROGRESS_MS): OpenTarget {
  const outfile = join(packageRoot(), 'node_modules/.cache/svc-test', `formats-${process.pid}.mjs`);
  buildSync({
    ...{ entryPoints: [entry], absWorkingDir: packageRoot(), outfile, bundle: true, packages: 'external' },
    ...{ platform: 'node', format: 'esm', logLevel: 'error' },
  });
  let reader: Reader | undefined;
  const started = (): Reader => {
    const child = spawn(process.execPath, [outfile], { stdio: ['pipe', 'pipe', 'inherit'] });
    return { child, lines: createInterface({ input: child.stdout }) };
  };
  const ended = async () => {
    const last = reader;
    reader = undefined;
    if (!last || last.child.exitCode !== null) return;
    const gone = once(last.child, 'exit');
    last.child.kill('SIGKILL');
    await gone;
  };
  return {
    one: async (chance: Chance) => {
      reader ??= started();
      const seed = chance.below(2 ** 31);
      const outcome = await answered(reader, seed, progressMs);
      if (outcome.kind === 'stuck') await ended();
      return outcome;
    },
    close: ended,
  };
}

async function answered({ child, lines }: Reader, seed: number, progressMs: number): Promise<Outcome> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), progressMs);
  const over = () => late.abort();
  child.once('exit', over);
  try {
    child.stdin.write(`${seed}\n`);
    const [line] = (await once(lines, 'line', { signal: late.signal })) as [string];
    return JSON.parse(line) as Outcome;
  } catch {
    return {
      kind: 'stuck',
      fault: `no progress within ${progressMs} ms, or the process ended; inner seed ${seed}`,
    };
  } finally {
    clearTimeout(timer);
    child.off('exit', over);
  }
}
