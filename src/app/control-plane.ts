// Wires the control plane: the only file that picks the store and the providers. Parts are closed in reverse order of
// creation, also if creation fails half-way.
import { hostname, release } from 'node:os';
import type { ControlPlane } from '../control/api/control-plane.ts';
import { createControlPlane } from '../control/create.ts';
import { Metrics } from '../control/metrics/metrics.ts';
import type { ByteLedger } from '../domain/byte-ledger.ts';
import type { LiveConfig } from '../domain/live-config.ts';
import { allowsLoopbackRpc } from '../domain/loopback.ts';
import type { OwnImages } from '../domain/machine-images.ts';
import type { Clock, Ids, Logger, Random } from '../domain/ports.ts';
import type { SteadyClock } from '../domain/steady-clock.ts';
import { eventWriter } from '../events/batch-writer.ts';
import { eventBus } from '../events/bus.ts';
import { realBoot } from '../host/clock.ts';
import type { Host } from '../host/host.ts';
import type { ImagePulls } from '../images/registry/pulls.ts';
import type { ProviderSet } from '../providers/provider.ts';
import { providerRegistry } from '../providers/registry.ts';
import { remoteProviders, workerTls } from '../providers/remote/remote-providers.ts';
import type { GrowingRedactor } from '../redact/growing.ts';
import type { Store } from '../store/store.ts';
import { type CloseStack, closeStack } from './close-stack.ts';
import { hintAtImage } from './image-hint.ts';
import { processImages, runsImages } from './image-pulls.ts';
import { interpreterFiles } from './interpreter-files.ts';
import { openStore } from './open-store.ts';
import { processEgress } from './process-egress.ts';
import { processLedger } from './process-ledger.ts';
import { processSeal } from './process-seal.ts';

export interface ControlPlaneDeps {
  config: LiveConfig;
  host: Host;
  /** The clock of the control plane, which sets it. */
  clock: SteadyClock;
  /** The clock of the machine. */
  wall: Clock;
  ids: Ids;
  random: Random;
  logger: Logger;
  redactor: GrowingRedactor;
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
  /** Names the server's address to others: in the error of a second server on the same file, or in a shared database. */
  announce(address: string): void;
  /** Resolves when the database can no longer be written and only a restart helps. */
  lost: Promise<Error>;
  /** Stops background work, flushes pending writes, and closes the database. Sandboxes keep running. Idempotent. */
  close(): Promise<void>;
}

/** Opens the database and builds everything on top of it. Nothing runs before `control.start()`. */
export async function openControlPlane(deps: ControlPlaneDeps): Promise<OpenControlPlane> {
  const { clock, wall, logger } = deps;
  const config = deps.config.current();
  const ledger = processLedger(config, clock);
  const opened = closeStack();
  try {
    const store = await openStore({ ...deps, database: config.database });
    opened.push(() => store.close());
    const { providers, pulls, images } = await providersOf(deps, store, ledger, opened);
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
    const clocks = { clock: wall, steady: clock };
    const given = {
      ...deps,
      ...clocks,
      boot,
      host: hostFacts(deps.host),
      store,
      providers,
      pulls,
      images,
      remote,
      ledger,
      openEgress: processEgress(config),
      seal: processSeal(config, deps.random),
      interpreter: interpreterFiles(deps.packageRoot),
      conceal: (secret: string) => deps.redactor.hold(secret),
    };
    const control = createControlPlane({ ...given, bus, writer, redact, metrics });
    opened.push(() => control.stop());
    const hint = announcer(deps, store, providers, opened);
    const announce = (address: string) => {
      control.listening(address);
      hint(address);
    };
    return { control, announce, lost: store.lost, close: () => opened.close() };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/** The providers, and the pulls of their images. */
async function providersOf(
  deps: ControlPlaneDeps,
  { instance }: Pick<Store, 'instance'>,
  ledger: ByteLedger,
  opened: CloseStack,
): Promise<{ providers: ProviderSet; pulls: ImagePulls | undefined; images: OwnImages | undefined }> {
  const config = deps.config.current();
  const own = await processImages({ ...deps, config });
  if (own) opened.push(() => own.close());
  const providers = await providerRegistry({
    ...deps,
    ledger,
    config: config.providers,
    images: config.images,
    pulls: own?.pulls,
    disks: own?.disks,
    defaultImage: config.defaults.image,
    instance,
  });
  opened.push(() => providers.close());
  const images = runsImages(providers.all) ? own?.images : undefined;
  return { providers, pulls: own?.pulls, images };
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
