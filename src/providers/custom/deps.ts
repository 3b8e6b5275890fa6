// Dependencies of the custom provider, and the state that its parts share. Types only.
import type { Clock, Logger } from '../../domain/ports.ts';
import type { CustomConfig } from '../../schema/config-backends.ts';
import type { OpenSessions } from '../backends/open-sessions.ts';
import type { Backend } from './backend.ts';

export interface CustomDeps {
  clock: Clock;
  logger: Logger;
  config: CustomConfig;
  /** From the store. A backend may serve several servers; labels identify the server of a sandbox. */
  instance: { id: string };
}

export interface CustomState extends CustomDeps {
  backend: Backend;
  sessions: OpenSessions;
}
