// The guest agent's own fuzzer (agent/test/fuzz.c), under the sanitizers: hostile frames into its whole input path.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { packageRoot } from '../../../src/host/package-root.ts';
import type { Chance } from './chance.ts';

const run = promisify(execFile);
/** Of one process: starting one under the sanitizers costs as much as some dozens. */
const INPUTS = 100;

export const agent = { width: 2, open: openAgent };

async function openAgent() {
  const folder = join(packageRoot(), 'agent');
  await run('make', ['-s', '-C', folder, 'build/fuzz']);
  return {
    one: async (chance: Chance) => {
      const seed = 1 + chance.below(2 ** 31);
      try {
        await run(join(folder, 'build/fuzz'), [String(INPUTS), String(seed)], { timeout: 50_000 });
        return { kind: 'ok', inputs: INPUTS };
      } catch (error) {
        const { stderr = '' } = error as { stderr?: string };
        const fault = `build/fuzz ${INPUTS} ${seed}: ${String(error).slice(0, 300)}\n${stderr.slice(-2000)}`;
        return { kind: 'failed', inputs: INPUTS, fault };
      }
    },
    close: async () => {},
  };
}
