// What the userspace provider is handed. Types only.
import type { Clock, Logger, Random } from '../../domain/ports.ts';
import type { Host } from '../../host/host.ts';
import type { UserspaceConfig } from '../../schema/config.ts';

export interface UserspaceDeps {
  host: Host;
  clock: Clock;
  random: Random;
  logger: Logger;
  config: UserspaceConfig;
  /**
   * The store's instance; `key` is hex. It is part of the name of every runtime, so that two servers on one host never touch
   * each other's.
   */
  instance: { id: string; key: string };
  /** Where the package lies: svc-agent is found below it. */
  packageRoot: string;
  /** XDG_RUNTIME_DIR of an ordinary user's session. */
  runtimeDir?: string | undefined;
}
