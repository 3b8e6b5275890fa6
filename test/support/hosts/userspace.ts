// The userspace provider on this real host, in a home of its own: what contract tests act on.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SandboxIo } from '../../../src/agent/io.ts';
import { realClock } from '../../../src/host/clock.ts';
import { packageRoot } from '../../../src/host/package-root.ts';
import { realRandom } from '../../../src/host/random.ts';
import { realHost } from '../../../src/host/real-host.ts';
import type { Provider, RuntimeSpec } from '../../../src/providers/provider.ts';
import { userspaceProvider } from '../../../src/providers/userspace/userspace.ts';
import type { UserspaceConfig } from '../../../src/schema/config.ts';
import { endRuntimes } from '../checks/leftovers.ts';
import { silentLogger } from '../fakes/ports.ts';
import { removeFolder } from '../remove.ts';

export interface UserspaceHome {
  home: string;
  instance: { id: string; key: string };
  /** Another object over the same instance is what a restarted server has. */
  provider(
    config?: Partial<UserspaceConfig>,
    instance?: { id: string; key: string },
    /** Where runners are looked for. */
    path?: string,
  ): Provider;
  /** Removes the home and the instance's run folder. */
  remove(): void;
}

let count = 0;

export function userspaceHome(): UserspaceHome {
  const home = mkdtempSync(join(tmpdir(), 'svc-userspace-'));
  const id = `${process.pid.toString(16).padStart(8, '0')}-${(++count).toString(16).padStart(4, '0')}-4000-8000-000000000000`;
  const instance = { id, key: 'c5'.repeat(32) };
  return {
    home,
    instance,
    provider: (config = {}, as = instance, path = '/usr/sbin:/usr/bin:/sbin:/bin') =>
      userspaceProvider({
        host: realHost(path),
        clock: realClock(),
        random: realRandom(),
        logger: silentLogger,
        config: { ...standard(home), ...config },
        imageStore: { path: join(home, 'images') },
        instance: as,
        packageRoot: packageRoot(),
        runtimeDir: home,
      }),
    remove: () => {
      removeFolder(home);
      endRuntimes(id.replaceAll('-', '').slice(0, 12));
    },
  };
}

function standard(home: string): UserspaceConfig {
  return {
    enabled: true,
    runner: 'auto',
    runner_path: '',
    rootfs_path: '',
    images: {},
    workspace: 'memory',
    workspace_base: join(home, 'workspaces'),
    network: 'none',
    name_servers: [],
    user: 'sandbox',
    languages: [],
    max_sandboxes: 0,
    max_memory_mb: 256,
    max_disk_mb: 64,
  };
}

export function runtimeSpec(id: string, change: Partial<RuntimeSpec> = {}): RuntimeSpec {
  return {
    id,
    epoch: 1,
    image: undefined,
    memory_mb: 128,
    vcpus: 1,
    network: 'default',
    expires_at: '2030-01-01T00:00:00.000Z',
    ...change,
  };
}

/** An id that no other test of this run uses. */
export function freshId(): string {
  return `sb-t${process.pid.toString(36)}x${(++count).toString(36)}`;
}

export const soon = () => AbortSignal.timeout(30_000);

/** Runs a command to its end and gathers what it wrote. */
export async function runInside(io: Pick<SandboxIo, 'exec'>, argv: string[]) {
  const exec = io.exec({ exec_id: freshId(), argv, label: argv.join(' '), env: {}, timeoutMs: 60_000 });
  const parts = { stdout: '', stderr: '' };
  for await (const { channel, data } of exec.output) parts[channel] += data.toString();
  return { ...parts, ...(await exec.exit) };
}
