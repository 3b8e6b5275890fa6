// The parts that the worker's files share.
import type { Sessions } from '../agent/sessions.ts';
import type { Clock, Logger } from '../domain/ports.ts';
import type { ProviderSet, RuntimeRef } from '../providers/provider.ts';
import type { ControlLink } from './control-link.ts';
import type { WorkerCredential } from './credential.ts';
import type { Draining } from './draining.ts';
import type { WorkerEgress } from './worker-egress.ts';
import type { WorkerImages } from './worker-images.ts';
import type { WorkerSandboxes } from './worker-sandboxes.ts';

/** A runtime of this worker and its provider. */
export interface WorkerRuntime extends RuntimeRef {
  provider: string;
}

export interface WorkerParts {
  id: string;
  credential: WorkerCredential;
  sandboxes: WorkerSandboxes;
  providers: ProviderSet;
  link: ControlLink;
  draining: Draining;
  /** Sessions into running sandboxes. */
  sessions: Sessions<WorkerRuntime>;
  /** Whether control planes may open sessions: `worker.sessions`. */
  sessionsAllowed: boolean;
  /** Outgoing connections of sandboxes; absent while `egress.enabled` is false. */
  egress?: WorkerEgress | undefined;
  /** The image store; absent where no provider runs its images. */
  images?: WorkerImages | undefined;
  /** The limit; 0 means unlimited. */
  maxSandboxes: number;
  clock: Clock;
  logger: Logger;
}

/** For provider calls: their guard has its own timeouts, and started work is finished. */
export const unaborted = (): AbortSignal => new AbortController().signal;
