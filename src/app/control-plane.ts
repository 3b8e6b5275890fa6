// Wires the control plane: the only file that picks the store and the providers. Parts are closed in reverse order of
// creation, also if creation fails half-way.
import { hostname, release } from 'node:os';
import type { ControlPlane } from '../control/api/control-plane.ts';
import { createControlPlane } from '../control/create.ts';
import { Metrics } from '../control/metrics/metrics.ts';
import type { LiveConfig } from '../domain/live-config.ts';
import { allowsLoopbackRpc } from '../domain/loopback.ts';
import type { Clock, Ids, Logger, Random } from '../domain/ports.ts';
import { eventWriter } from '../events/batch-writer.ts';
import { eventBus } from '../events/bus.ts';
import { realBoot } from '../host/clock.ts';
import type { Host } from '../host/host.ts';
import type { ProviderSet } from '../providers/provider.ts';
import { providerRegistry } from '../providers/registry.ts';
import { remoteProviders, workerTls } from '../providers/remote/remote-providers.ts';
import type { Redactor } from '../redact/engine.ts';
import { type CloseStack, closeStack } from './close-stack.ts';
import { hintAtImage } from './image-hint.ts';
import { openStore } from './open-store.ts';
import { processLedger } from './process-ledger.ts';

export interface ControlPlaneDeps {
  config: LiveConfig;
  host: Host;
  clock: Clock;
  ids: Ids;
  random: Random;
  logger: Logger;
  redactor: Redactor;
  /** Returns the newest log lines, redacted. */
  recentLogs?: (() => Record<string, unknown>[]) | undefined;
  /** The version in package.json. */
  version: string;
  packageRoot: string;
  /** The value of XDG_RUNTIME_DIR. */
  runtimeDir?: string | undefined;
}

export interface OpenControlPlane {
  control: ControlPlane;
  /** Puts the server's address into the error that a second server on the same database gets. */
  announce(address: string): void;
  /** Resolves when the database can no longer be written and only a restart helps. */
  lost: Promise<Error>;
  /** Stops background work, flushes pending writes, and closes the database. Sandboxes keep running. Idempotent. */
  close(): Promise<void>;
}

/** Opens the database and builds everything on top of it. Nothing runs before `control.start()`. */
export async function openControlPlane(deps: ControlPlaneDeps): Promise<OpenControlPlane> {
  const { clock, logger } = deps;
  const config = deps.config.current();
  const ledger = processLedger(config, clock);
  const opened = closeStack();
  try {
    const store = await openStore({ ...deps, database: config.database });
    opened.push(() => store.close());
    const providers = await providerRegistry({
      ...deps,
      ledger,
      config: config.providers,
      images: config.images,
      defaultImage: config.defaults.image,
      instance: store.instance,
    });
    opened.push(() => providers.close());
    const bus = eventBus({ logger });
    const writer = eventWriter({
      append: (drafts) => store.events.append(drafts),
      deliver: (events) => bus.publish(events),
      clock,
      logger,
    });
    opened.push(() => writer.close());
    const redact = (value: unknown) => deps.redactor.value(value);
    const metrics = new Metrics();
    metrics.watchProcess();
    const tls = await workerTls(config.worker.tls);
    const remote = remoteProviders({ ...deps, allowLoopback: allowsLoopbackRpc(config), tls });
    opened.push(() => remote.close());
    const boot = realBoot(deps.host.bootId || deps.ids.uuid());
    const given = { ...deps, boot, host: hostFacts(deps.host), store, providers, remote, ledger };
    const control = createControlPlane({ ...given, bus, writer, redact, metrics });
    opened.push(() => control.stop());
    const announce = announcer(deps, store, providers, opened);
    return { control, announce, lost: store.lost, close: () => opened.close() };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/** Logs the hint once it is known, unless the server stops first. */
function announcer(
  { config, logger }: ControlPlaneDeps,
  store: { announce(address: string): void },
  providers: ProviderSet,
  opened: CloseStack,
): (address: string) => void {
  const stop = new AbortController();
  opened.push(async () => stop.abort());
  return (address) => {
    store.announce(address);
    void hintAtImage(providers, config.current().providers.default, logger, stop.signal);
  };
}

function hostFacts({ cpus, memoryMb }: Host) {
  return { cpus, memoryMb, hostname: hostname(), kernel: release() };
}
