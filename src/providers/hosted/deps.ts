// What the hosted provider is handed, and what its parts share. Types only.
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
  /** Of the store: an account may serve several servers, and labels tell whose a sandbox is. */
  instance: { id: string };
}

export interface HostedState extends HostedDeps {
  library: Library;
  sessions: OpenSessions;
  /** By runtime: they outlive sessions. */
  detached: Map<string, DetachedExecs>;
}
