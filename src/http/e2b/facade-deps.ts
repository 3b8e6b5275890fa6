// What the interface of E2B is built on.
import type { ControlPlane } from '../../control/api/control-plane.ts';
import type { LiveConfig } from '../../domain/live-config.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import type { HttpConfig } from '../http-config.ts';
import type { InFlight } from '../in-flight.ts';
import type { Pipeline } from '../pipeline.ts';

export interface FacadeDeps {
  control: ControlPlane;
  config: LiveConfig<HttpConfig>;
  clock: Clock;
  logger: Logger;
  pipeline: Pipeline;
  inFlight: InFlight;
}
