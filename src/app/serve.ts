// The server as one object: control plane and HTTP over it. Signals, logs and exit codes are the command's job.
import { release } from 'node:os';
import { type TakenOver, takeOver } from '../config/take-over.ts';
import { configWarnings } from '../domain/config-warnings.ts';
import { parseDuration } from '../domain/duration.ts';
import { createHttpServer } from '../http/server.ts';
import type { Config } from '../schema/config.ts';
import { closeStack } from './close-stack.ts';
import { type ControlPlaneDeps, openControlPlane } from './control-plane.ts';

export interface RunningServer {
  /** For example `http://127.0.0.1:7423`. */
  address: string;
  /**
   * Takes over what may change while serving from a configuration that was read again. Throws `bad_request` with nothing
   * changed when it cannot hold.
   */
  reload(next: Config): TakenOver;
  /** Resolves when the server cannot go on: it is to be closed, and started again. */
  lost: Promise<Error>;
  /** Waits for calls in flight at most `server.shutdown_timeout`, then ends them and everything else. Idempotent. */
  close(): Promise<void>;
}

/**
 * Resolves when it listens. Throws with everything closed again: `bad_request` for a configuration that would open the
 * service to everybody, `conflict` for a database in use, `unavailable` for an address that cannot be had.
 */
export async function serve(deps: ControlPlaneDeps): Promise<RunningServer> {
  const opened = closeStack();
  try {
    for (const warning of configWarnings(deps.config, release())) deps.logger.warn({}, warning);
    const plane = await openControlPlane(deps);
    opened.push(() => plane.close());
    const http = createHttpServer({ ...deps, maxFiles: deps.host.maxFiles, control: plane.control });
    await plane.control.start();
    const graceMs = parseDuration(deps.config.server.shutdown_timeout, 'server.shutdown_timeout');
    opened.push(() => http.close(graceMs));
    // First of all: who waits for a place would hold up the stop until its wait is over.
    opened.push(async () => plane.control.drain());
    const address = await http.listen();
    plane.announce(address);
    const reload = (next: Config) => {
      const taken = takeOver(deps.config, next);
      plane.control.reload();
      http.reload();
      return taken;
    };
    return { address, reload, lost: plane.lost, close: () => opened.close() };
  } catch (error) {
    await opened.close().catch(() => undefined);
    throw error;
  }
}
