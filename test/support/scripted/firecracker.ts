// The microvm provider over a script that plays Firecracker, with the real svc-agent as its guest. The server counts as an
// ordinary user here, since Firecracker is refused to root.
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { agentPlaces } from '../../../src/agent/binary.ts';
import { realClock } from '../../../src/host/clock.ts';
import { packageRoot } from '../../../src/host/package-root.ts';
import { realRandom } from '../../../src/host/random.ts';
import { realHost } from '../../../src/host/real-host.ts';
import { microvmProvider } from '../../../src/providers/microvm/microvm.ts';
import type { Provider } from '../../../src/providers/provider.ts';
import type { MicrovmConfig } from '../../../src/schema/config-microvm.ts';
import { bundleOf } from '../child.ts';
import { silentLogger } from '../fakes/ports.ts';
import { elfKernel } from '../hosts/guest-kernel.ts';
import { temporaryFolder } from '../temporary.ts';

const USER = 61_234;
const INSTANCE = { id: 'f17ec4ac-0000-4000-8000-000000000000', key: 'c6'.repeat(32) };

export interface ScriptedFirecracker {
  provider(config?: Partial<MicrovmConfig>, host?: { uid?: number; hasKvm?: boolean }): Provider;
  /** How the next one goes wrong; `well` is not at all. */
  mood(words: string): void;
  /** Requests and connections so far. */
  heard(): string[];
  /** The monitor's number. */
  pid(id: string): number;
  /** Processes and files that name the sandbox. */
  remains(id: string): string[];
}

/** For the test that is running. */
export async function scriptedFirecracker(): Promise<ScriptedFirecracker> {
  const folder = temporaryFolder();
  const runs = ownRuns(folder);
  writeFileSync(join(folder, 'image'), 'an ext4');
  writeFileSync(join(folder, 'vmlinux'), elfKernel());
  writeFileSync(join(folder, 'heard'), '');
  await writeProgram(folder);
  onTestFinished(() => endMonitors(folder));
  const mood = (words: string) => writeFileSync(join(folder, 'mood'), words);
  mood('well');
  return {
    provider: (config, { uid = USER, hasKvm = true } = {}) =>
      microvmProvider({
        host: { ...realHost(), uid, mayWrite: async () => hasKvm },
        clock: realClock(),
        random: realRandom(),
        logger: silentLogger,
        config: { ...standard(folder), ...config },
        instance: INSTANCE,
        imageStore: { path: join(folder, 'store') },
        packageRoot: packageRoot(),
        runtimeDir: folder,
      }),
    mood,
    heard: () => readFileSync(join(folder, 'heard'), 'utf8').split('\n').filter(Boolean),
    pid: (id) => JSON.parse(readFileSync(join(runs, `${id}.1`, 'runtime.json'), 'utf8')).pid,
    remains: (id) => {
      const places = [runs, join(folder, 'data', 'overlays')].filter(existsSync);
      const files = places.flatMap((place) => readdirSync(place, { recursive: true }).map(String));
      const commands = processesOf(folder).map(({ command }) => command);
      return [...commands, ...files].filter((each) => each.includes(id));
    },
  };
}

/** They are there already, as those of the user that the server counts as. */
function ownRuns(folder: string): string {
  const runs = join(folder, 'svc', `${INSTANCE.id.replaceAll('-', '').slice(0, 12)}v`);
  for (const path of [join(folder, 'svc'), runs, join(folder, 'svc', 'uids')]) {
    mkdirSync(path);
    chownSync(path, USER, USER);
  }
  return runs;
}

/** Monitors have no environment: the program says itself what runs it. */
async function writeProgram(folder: string): Promise<void> {
  const script = await bundleOf('scripted/firecracker.child.ts');
  const agent = agentPlaces(packageRoot(), process.arch).find(existsSync);
  const words = `exec ${process.execPath} ${script} ${folder} ${agent} "$@"`;
  writeFileSync(join(folder, 'firecracker'), `#!/bin/sh\n${words}\n`);
  chmodSync(join(folder, 'firecracker'), 0o755);
}

function standard(folder: string): MicrovmConfig {
  return {
    enabled: true,
    monitor: 'firecracker',
    monitor_path: join(folder, 'firecracker'),
    kernel_path: join(folder, 'vmlinux'),
    agent_path: '',
    data_dir: join(folder, 'data'),
    images: { busybox: join(folder, 'image') },
    accelerator: 'auto',
    network: 'none',
    max_sandboxes: 0,
    max_vcpus: 0,
    max_memory_mb: 0,
    overlay_mb: 8,
    snapshots: true,
  };
}

/** Of a test that failed. Their guests end with them. */
function endMonitors(folder: string): void {
  for (const { pid, command } of processesOf(folder))
    if (command.startsWith(process.execPath)) process.kill(pid, 'SIGKILL');
}

function processesOf(folder: string): { pid: number; command: string }[] {
  return readdirSync('/proc').flatMap((pid) => {
    try {
      const command = /^\d+$/.test(pid) ? readFileSync(`/proc/${pid}/cmdline`, 'latin1') : '';
      return command.includes(folder) ? [{ pid: Number(pid), command }] : [];
    } catch {
      return [];
    }
  });
}
