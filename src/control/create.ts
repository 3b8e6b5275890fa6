// Puts the control plane together. `app` hands in the parts; nothing here knows which store or providers they are.
import type { Clock, Ids, Logger } from '../domain/ports.ts';
import type { EventBus } from '../events/bus.ts';
import type { EventWriter } from '../events/writer.ts';
import type { ProviderSet } from '../providers/provider.ts';
import type { Config } from '../schema/config.ts';
import type { Store } from '../store/store.ts';
import type { ControlPlane } from './control-plane.ts';

export interface ControlDeps {
  config: Config;
  store: Store;
  providers: ProviderSet;
  /** Hears of state changes after their commit. */
  bus: EventBus;
  /** Takes the events that no state change waits for. */
  writer: EventWriter;
  clock: Clock;
  ids: Ids;
  logger: Logger;
  version: string;
  host: { cpus: number };
  /** Masks secrets in what the API shows of the configuration. */
  redact(value: unknown): unknown;
}

/** Built, not started: `start()` begins background work. */
export declare function createControlPlane(deps: ControlDeps): ControlPlane;
