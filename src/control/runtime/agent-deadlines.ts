// Passes the end of a sandbox to its agent, which ends it at that time even when no server runs (docs/lifetime.md).

import type { Sessions } from '../../agent/sessions.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import { withTimeout } from '../../domain/timeout.ts';
import { agentLifeMs } from '../../domain/ttl.ts';
import type { Runtime } from './runtimes.ts';

const AGREE_MS = 5000;
const NO_DEADLINES =
  'The agent of this sandbox keeps no deadline: only the server ends the sandbox, at its recorded time.';

export interface AgentDeadlinesDeps {
  sessions: Pick<Sessions<Runtime>, 'acquire'>;
  clock: Clock;
  logger: Logger;
}

export class AgentDeadlines {
  readonly #deps: AgentDeadlinesDeps;

  constructor(deps: AgentDeadlinesDeps) {
    this.#deps = deps;
  }

  /**
   * Resolves when the agent has agreed, or when nothing in the sandbox keeps deadlines: an agent of an earlier version, or a
   * backend of others. Throws `unavailable` when it does not answer within 5 s; it may have agreed nevertheless.
   */
  async set(row: Runtime, expires_at: string): Promise<void> {
    const { sessions, clock, logger } = this.#deps;
    try {
      await withTimeout({ clock, ms: AGREE_MS, error: tooSlow }, async (signal) => {
        const { io, release } = await sessions.acquire(row, signal);
        try {
          if (!io.setDeadline) logger.info({ sandbox_id: row.id }, NO_DEADLINES);
          await io.setDeadline?.(agentLifeMs(Date.parse(expires_at), clock.now()), signal);
        } finally {
          release();
        }
      });
    } catch (cause) {
      throw new ServiceError('unavailable', 'The sandbox did not confirm its new end; nothing was changed.', {
        cause,
        remedy: 'Try again. If the error persists, destroy the sandbox and spawn a new one.',
      });
    }
  }
}

function tooSlow(): ServiceError {
  return new ServiceError('timeout', 'The agent did not answer in time.');
}
