// What the container provider is handed. Types only.
import type { Clock, Logger, Random } from '../../domain/ports.ts';
import type { ContainerConfig } from '../../schema/config-container.ts';

export interface ContainerDeps {
  clock: Clock;
  random: Random;
  logger: Logger;
  config: ContainerConfig;
  /** Of the store; `key` is hex. Every container carries the id as a label: two servers may share an engine. */
  instance: { id: string; key: string };
  /** Where the package lies: svc-agent is found below it. */
  packageRoot: string;
  /** Of spawns that name no image: looked for by the probe. */
  defaultImage?: string | undefined;
}
