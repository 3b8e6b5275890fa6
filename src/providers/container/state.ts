// The state that the parts of one container provider share: the engine, its facts, and what is created on it once.

import type { AgentIo } from '../../agent/io.ts';
import { ConcurrencyLimit } from '../../domain/concurrency-limit.ts';
import { parseDuration } from '../../domain/duration.ts';
import type { Once } from '../../domain/once.ts';
import type { Clock, Logger, Random, Timer } from '../../domain/ports.ts';
import type { Host } from '../../host/host.ts';
import type { ContainerConfig } from '../../schema/config-container.ts';
import { agentVolume } from './agent-volume.ts';
import { type Engine, openEngine } from './engine.ts';
import { type FactsReader, factsReader } from './facts.ts';
import { type Images, images } from './image.ts';
import { imagePolicy } from './image-policy.ts';
import { Links } from './links.ts';
import { type Network, network } from './network.ts';
import { pulledImages } from './pulled-images.ts';

export interface ContainerDeps {
  clock: Clock;
  random: Random;
  logger: Logger;
  host: Pick<Host, 'uid'>;
  config: ContainerConfig;
  /** From the store; `key` is hex. Each container carries the id as a label, because servers may share an engine. */
  instance: { id: string; key: string };
  /** Root folder of the package, which contains svc-agent. */
  packageRoot: string;
  /** XDG_RUNTIME_DIR of an ordinary user's session. */
  runtimeDir?: string | undefined;
  /** Image of spawns without one; checked by the probe. */
  defaultImage?: string | undefined;
}

const WAITING = 2000;

export interface ContainerState extends ContainerDeps {
  engine: Engine;
  facts: FactsReader;
  images: Images;
  network: Network;
  agent: Once<string>;
  starts: ConcurrencyLimit;
  startMs: number;
  parked: ParkedSessions;
  links: Links;
}

/** Touches neither the engine nor a file. */
export function openState(deps: ContainerDeps): ContainerState {
  const { config, clock } = deps;
  const logger = deps.logger.child({ provider: 'container' });
  const engine = openEngine({ config, clock });
  const startMs = parseDuration(config.start_timeout, 'providers.container.start_timeout');
  return {
    ...deps,
    logger,
    engine,
    facts: factsReader(engine, clock),
    images: openImages({ ...deps, engine, logger }),
    network: network(engine, config),
    agent: agentVolume({ ...deps, engine, logger }),
    starts: new ConcurrencyLimit(config.start_concurrency, { clock, waiting: WAITING, waitMs: startMs }),
    startMs,
    links: new Links({ ...deps, logger }),
    parked: new ParkedSessions((ms, run) => clock.after(ms, run)),
  };
}

function openImages(deps: ContainerDeps & { engine: Engine }): Images {
  const { config, engine, clock, logger } = deps;
  const pullMs = parseDuration(config.pull_timeout, 'providers.container.pull_timeout');
  const afterMs = parseDuration(config.prune_images_after, 'providers.container.prune_images_after');
  return images({
    engine,
    clock,
    logger,
    pullMs,
    policy: config.pull,
    allowed: imagePolicy(config.allowed_images),
    bounds: { atOnce: config.pull_concurrency, each: config.pulls_per_owner, waitMs: pullMs },
    pulled: pulledImages({ ...deps, afterMs, maxMb: config.pulled_images_mb }),
  });
}

const PARKED_MS = 30_000;

/** Sessions that wait for their first caller; each is closed after 30 seconds. */
class ParkedSessions {
  readonly #after: (ms: number, run: () => void) => Timer;
  readonly #parked = new Map<string, { io: AgentIo; timer: Timer }>();

  constructor(after: (ms: number, run: () => void) => Timer) {
    this.#after = after;
  }

  put(name: string, io: AgentIo): void {
    const timer = this.#after(PARKED_MS, () => this.end(name));
    const parked = { io, timer };
    this.#parked.set(name, parked);
    void io.closed.then(() => {
      if (this.#parked.get(name) === parked) this.end(name);
    });
  }

  take(name: string): AgentIo | undefined {
    const parked = this.#parked.get(name);
    parked?.timer.cancel();
    this.#parked.delete(name);
    return parked?.io;
  }

  end(name: string): void {
    this.take(name)?.close();
  }

  endAll(): void {
    for (const name of [...this.#parked.keys()]) this.end(name);
  }
}
