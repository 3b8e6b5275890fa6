// The microvm provider on this real host, in a home of its own, with a guest of busybox: what contract tests act on.
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { realClock } from '../../../src/host/clock.ts';
import { packageRoot } from '../../../src/host/package-root.ts';
import { realRandom } from '../../../src/host/random.ts';
import { realHost } from '../../../src/host/real-host.ts';
import type { MicrovmDeps } from '../../../src/providers/microvm/folders.ts';
import { microvmProvider } from '../../../src/providers/microvm/microvm.ts';
import type { Provider } from '../../../src/providers/provider.ts';
import type { MicrovmConfig } from '../../../src/schema/config-microvm.ts';
import { remains } from '../checks/auditor.ts';
import { endRuntimes } from '../checks/leftovers.ts';
import { silentLogger } from '../fakes/ports.ts';
import { removeFolder } from '../remove.ts';

export interface MicrovmHome {
  home: string;
  /** An ext4 file with busybox. */
  image: string;
  instance: { id: string; key: string };
  /** Another object over the same instance is what a restarted server has. */
  provider(config?: Partial<MicrovmConfig>, deps?: Partial<MicrovmDeps>): Provider;
  /** Run folder of the instance. */
  runs: string;
  /** Removes the home and the run folder. */
  remove(): void;
}

const PROGRAMS =
  'sh ls cat echo ps mount dmesg id wc head tail pwd mkdir sleep cut date hostname df stty seq chmod touch rm dd kill tr grep sort find sha256sum env true false test printf ln mv cp stat nc httpd sync';

let count = 0;

export function microvmHome(): MicrovmHome {
  const home = mkdtempSync(join(tmpdir(), 'svc-microvm-'));
  const id = `${process.pid.toString(16).padStart(8, '0')}-${(++count + 0x4000).toString(16).padStart(4, '0')}-4000-8000-000000000000`;
  const instance = { id, key: 'c6'.repeat(32) };
  const image = busyboxImage(home);
  const runs = join('/run/svc', `${id.replaceAll('-', '').slice(0, 12)}v`);
  return {
    home,
    image,
    instance,
    runs,
    provider: (config = {}, deps = {}) =>
      microvmProvider({
        host: realHost('/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'),
        clock: realClock(),
        random: realRandom(),
        logger: silentLogger,
        config: { ...standard(home, image), ...config },
        imageStore: { path: join(home, 'store') },
        instance,
        packageRoot: packageRoot(),
        runtimeDir: home,
        ...deps,
      }),
    remove: () => {
      endRuntimes(id.replaceAll('-', '').slice(0, 12));
      removeFolder(home);
    },
  };
}

/** Host processes whose arguments name `what`: monitors name their run folder, which names the sandbox. */
export function machineProcesses(what: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'latin1');
      return /^\d+$/.test(pid) && command.includes('qemu-system') && command.includes(what);
    } catch {
      return false;
    }
  });
}

/** Processes, folders, disks, cgroups and claims of uids that carry the sandbox's id. */
export function machineRemains({ home, runs }: Pick<MicrovmHome, 'home' | 'runs'>, id: string): string[] {
  const named = (folder: string) =>
    existsSync(folder)
      ? readdirSync(folder, { recursive: true }).filter((name) => String(name).includes(id))
      : [];
  const claims = readdirSync('/run/svc/uids').filter((slot) => {
    try {
      return readlinkSync(`/run/svc/uids/${slot}`).includes(id);
    } catch {
      return false;
    }
  });
  const { cgroups } = remains({ home }, [id]);
  const files = [...named(runs), ...named(join(home, 'data'))].map(String);
  return [...machineProcesses(id), ...files, ...claims, ...cgroups];
}

/** /bin/busybox, static, under the names of its programs. */
export function busyboxImage(home: string): string {
  const root = join(home, 'root');
  for (const folder of ['bin', 'etc', 'root', 'tmp', 'usr/bin'])
    mkdirSync(join(root, folder), { recursive: true });
  copyFileSync('/bin/busybox', join(root, 'bin/busybox'));
  for (const name of PROGRAMS.split(' ')) symlinkSync('busybox', join(root, 'bin', name));
  symlinkSync('/bin/env', join(root, 'usr/bin/env'));
  writeFileSync(join(root, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n');
  const image = join(home, 'busybox.ext4');
  execFileSync('mke2fs', ['-q', '-F', '-t', 'ext4', '-O', '^has_journal', '-d', root, image, '16M']);
  return image;
}

function standard(home: string, image: string): MicrovmConfig {
  return {
    enabled: true,
    monitor: 'qemu',
    monitor_path: '',
    kernel_path: '',
    agent_path: '',
    data_dir: join(home, 'data'),
    images: { busybox: image },
    accelerator: 'emulation',
    network: 'none',
    max_sandboxes: 0,
    max_vcpus: 0,
    max_memory_mb: 0,
    overlay_mb: 64,
    snapshots: true,
  };
}
