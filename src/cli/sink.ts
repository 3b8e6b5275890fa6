// Receives the output of a command: passes it to the outputs of this process, or keeps it for one JSON document.
import { once } from 'node:events';
import { CappedOutput } from '../domain/output.ts';
import type { ExecResult } from '../schema/exec.ts';
import { print } from './print.ts';

/** The server's default limit for an exec. */
const KEPT_BYTES = 10 * 1024 * 1024;

export interface Sink {
  /** Waits for a slow reader. */
  add(stream: 'stdout' | 'stderr', data: Buffer): Promise<void>;
  /** Reports that older output was lost. */
  truncated(): void;
  kept(): Partial<ExecResult>;
}

export function passing(): Sink {
  return {
    add: async (name, data) => {
      if (!process[name].write(data)) await once(process[name], 'drain');
    },
    truncated: () => print('(older output was discarded)', process.stderr),
    kept: () => ({}),
  };
}

export function keeping(): Sink {
  const kept = { stdout: new CappedOutput(KEPT_BYTES), stderr: new CappedOutput(KEPT_BYTES) };
  let isCut = false;
  return {
    add: async (name, data) => kept[name].add(data),
    truncated: () => {
      isCut = true;
    },
    kept: () => ({
      stdout: kept.stdout.text('utf8'),
      stderr: kept.stderr.text('utf8'),
      stdout_truncated: isCut || kept.stdout.truncated,
      stderr_truncated: isCut || kept.stderr.truncated,
    }),
  };
}
