// What the custom provider is handed, and what its parts share. Types only.
import type { Clock, Logger } from '../../domain/ports.ts';
import type { CustomConfig } from '../../schema/config-backends.ts';
import type { OpenSessions } from '../backends/open-sessions.ts';
import type { Backend } from './backend.ts';

export interface CustomDeps {
  clock: Clock;
  logger: Logger;
  config: CustomConfig;
  /** Of the store: backends may serve several servers, and labels tell whose a sandbox is. */
  instance: { id: string };
}

export interface CustomState extends CustomDeps {
  backend: Backend;
  sessions: OpenSessions;
}
