// The container provider over one engine, as contract tests act on it: an instance of its own, so that tests share the
// engine and never each other's sandboxes.

import type { Logger } from '../../../src/domain/ports.ts';
import { realClock } from '../../../src/host/clock.ts';
import { packageRoot } from '../../../src/host/package-root.ts';
import { realRandom } from '../../../src/host/random.ts';
import { containerProvider } from '../../../src/providers/container/container.ts';
import type { Provider, RuntimeSpec } from '../../../src/providers/provider.ts';
import type { ContainerConfig } from '../../../src/schema/config-container.ts';
import { silentLogger } from '../fakes/ports.ts';
import { IMAGES } from './engine.ts';
import { runtimeSpec } from './userspace.ts';

export interface ContainerHome {
  instance: { id: string; key: string };
  /** Another object over the same instance is what a restarted server has. */
  provider(
    config?: Partial<ContainerConfig>,
    instance?: { id: string; key: string },
    logger?: Logger,
  ): Provider;
}

let count = 0;

export function containerHome(socket: string): ContainerHome {
  const part = (value: number, length: number) => value.toString(16).padStart(length, '0');
  const instance = {
    id: `${part(process.pid, 8)}-${part(++count, 4)}-4000-8000-000000000000`,
    key: 'c5'.repeat(32),
  };
  return {
    instance,
    provider: (config = {}, as = instance, logger = silentLogger) =>
      containerProvider({
        clock: realClock(),
        random: realRandom(),
        logger,
        config: { ...containerConfig(), socket, ...config },
        instance: as,
        host: { uid: process.getuid?.() ?? 0 },
        packageRoot: packageRoot(),
      }),
  };
}

/** As an empty configuration gives it. */
export function containerConfig(): ContainerConfig {
  return {
    ...{ enabled: true, socket: '', host: '', runtime: '', link: 'auto', network_mode: 'svc' },
    tls: { ca_file: '', cert_file: '', key_file: '', verify: true },
    ...{ seccomp_profile: 'svc', read_only_rootfs: false, pids_limit: 256, user: '' },
    no_new_privileges: true,
    dropped_caps: ['ALL'],
    added_caps: [
      ...['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID'],
      ...['SETGID', 'SETUID', 'KILL', 'NET_BIND_SERVICE'],
    ],
    ...{ tmpfs: ['/tmp'], workspace_mb: 512, pull: 'missing', start_concurrency: 4, start_timeout: '60s' },
    ...{ allowed_images: ['*'], pull_timeout: '15m', pull_concurrency: 4, pulls_per_owner: 2 },
    ...{ prune_images_after: '720h', pulled_images_mb: 0 },
    ...{ max_sandboxes: 0, max_memory_mb: 0 },
  };
}

export function containerSpec(id: string, change: Partial<RuntimeSpec> = {}): RuntimeSpec {
  return runtimeSpec(id, { image: IMAGES.busybox, ...change });
}
