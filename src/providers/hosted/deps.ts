// Dependencies of the hosted provider, and the state that its parts share. Types only.
import type { Clock, Logger, Random } from '../../domain/ports.ts';
import type { HostedConfig } from '../../schema/config-backends.ts';
import type { OpenSessions } from '../backends/open-sessions.ts';
import type { DetachedExecs } from './detached.ts';
import type { Library } from './library.ts';

export interface HostedDeps {
  clock: Clock;
  random: Random;
  logger: Logger;
  config: HostedConfig;
  /** From the store. An account may serve several servers; labels identify the server of a sandbox. */
  instance: { id: string };
}

export interface HostedState extends HostedDeps {
  library: Library;
  sessions: OpenSessions;
  /** Detached commands by runtime: they outlive sessions. */
  detached: Map<string, DetachedExecs>;
}
