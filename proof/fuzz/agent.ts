// The guest agent's own fuzzer (agent/test/fuzz.c), under the sanitizers: hostile frames into its entire input path. `agent` has
// long sessions and frames as large as they may be; `parser` has short ones, a million in some minutes; `names` asks the name
// service of the transparent gate.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { packageRoot } from '../../src/host/package-root.ts';
import type { Chance } from './chance.ts';

const run = promisify(execFile);
/** Cases per process: a start under the sanitizers costs as much as some dozens of cases. */
const INPUTS = 100;
const SMALL_INPUTS = 10_000;

export const agent = { width: 2, open: () => openFuzzer('fuzz', INPUTS) };
export const parser = { width: 2, open: () => openFuzzer('fuzz', SMALL_INPUTS, ['small']) };
export const names = { width: 2, open: () => openFuzzer('fuzz-names', SMALL_INPUTS) };

async function openFuzzer(program: string, inputs: number, more: readonly string[] = []) {
  const folder = join(packageRoot(), 'agent');
  await run('make', ['-s', '-C', folder, `build/${program}`]);
  return {
    one: async (chance: Chance) => {
      const args = [inputs, 1 + chance.below(2 ** 31), ...more].map(String);
      try {
        await run(join(folder, 'build', program), args, { timeout: 50_000, maxBuffer: 2 ** 26 });
        return { kind: 'ok', inputs };
      } catch (error) {
        const { stderr = '' } = error as { stderr?: string };
        const fault = `build/${program} ${args.join(' ')}: ${String(error).slice(0, 300)}\n${stderr.slice(-2000)}`;
        return { kind: 'failed', inputs, fault };
      }
    },
    close: async () => {},
  };
}
