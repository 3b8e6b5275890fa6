// The agent's own tests, in C and against its binary: under the address and undefined-behaviour sanitizers, with a
// fuzzed parser, and built without a warning (-Werror).
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeWith } from '../support/requires.ts';
import { packageRoot } from '../support/servers/server.ts';

const MINUTES = 60_000;

describeWith(['cc', 'root', 'unshare', 'python3'], 'svc-agent', () => {
  it.each(['test-core', 'test-files', 'test-serve'])(
    'passes make %s',
    async (target) => {
      const { code, output } = await make(target);
      expect(code, output).toBe(0);
    },
    8 * MINUTES,
  );
});

function make(target: string): Promise<{ code: number | null; output: string }> {
  const child = spawn('make', ['-s', '-j2', '-C', join(packageRoot, 'agent'), target], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-20_000);
    });
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output }));
  });
}
