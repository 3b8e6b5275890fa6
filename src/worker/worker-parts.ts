// What the parts of a worker share.
import type { Clock, Logger } from '../domain/ports.ts';
import type { ProviderSet } from '../providers/provider.ts';
import type { ControlLink } from './control-link.ts';
import type { WorkerCredential } from './credential.ts';
import type { Draining } from './draining.ts';
import type { WorkerSandboxes } from './worker-sandboxes.ts';

export interface WorkerParts {
  id: string;
  credential: WorkerCredential;
  held: WorkerSandboxes;
  providers: ProviderSet;
  link: ControlLink;
  draining: Draining;
  /** 0 is no cap. */
  maxSandboxes: number;
  clock: Clock;
  logger: Logger;
}

/** For calls to providers: the guard around them keeps their deadlines, and what was begun here is finished. */
export const unaborted = (): AbortSignal => new AbortController().signal;
