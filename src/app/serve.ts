// The server as one object: control plane and HTTP. Signals, logs and exit codes belong to the command.

import { release } from 'node:os';
import { join } from 'node:path';
import type { AuditLog } from '../control/api/system.ts';
import type { SystemActor } from '../domain/actor.ts';
import { configWarnings } from '../domain/config-warnings.ts';
import { parseDuration } from '../domain/duration.ts';
import { createHttpServer } from '../http/server.ts';
import type { Config } from '../schema/config.ts';
import { closeStack } from './close-stack.ts';
import { type ControlPlaneDeps, openControlPlane } from './control-plane.ts';
import { listenerTls } from './e2b-listener.ts';

export interface RunningServer {
  /** For example `http://127.0.0.1:7423`. */
  address: string;
  /** Resolves when the server cannot continue and must be closed and restarted. */
  lost: Promise<Error>;
  /** Waits at most `server.shutdown_timeout` for calls in flight, then ends everything. Idempotent. */
  close(): Promise<void>;
}

/**
 * Resolves when it listens. Closes everything before it throws: `bad_request` for a configuration that would open the
 * service to everyone, `conflict` for a database in use, `unavailable` for an unusable address.
 */
export async function serve(deps: ControlPlaneDeps): Promise<RunningServer> {
  const opened = closeStack();
  try {
    const config = deps.config.current();
    for (const warning of configWarnings(config, release())) deps.logger.warn({}, warning);
    const plane = await openControlPlane(deps);
    opened.push(() => plane.close());
    const http = createHttpServer({
      ...deps,
      maxFiles: deps.host.maxFiles,
      e2bTls: listenerTls(deps),
      control: plane.control,
      // Most servers never need the SDK.
      mcp: async (exchange) => (await import('../mcp/exchange.ts')).serveExchange(exchange, deps),
      consoleFolder: join(deps.packageRoot, 'dist/console'),
    });
    await plane.control.start();
    const graceMs = parseDuration(config.server.shutdown_timeout, 'server.shutdown_timeout');
    opened.push(() => http.close(graceMs));
    // Comes first: queued spawns would otherwise delay the stop until they time out.
    opened.push(async () => plane.control.drain());
    const address = await http.listen();
    plane.announce(address);
    recordReloads(plane.control.audit, deps);
    return { address, lost: plane.lost, close: () => opened.close() };
  } catch (error) {
    await opened.close().catch(() => undefined);
    throw error;
  }
}

/** Nobody calls for a reload: the operator sends a signal. The sections that changed are the target. */
function recordReloads(audit: AuditLog, { config, clock }: Pick<ControlPlaneDeps, 'config' | 'clock'>): void {
  config.onChange((current, previous) => {
    const sections = Object.keys(current) as (keyof Config)[];
    audit.record({
      actor: 'system:reload' satisfies SystemActor,
      method: 'SIGHUP',
      path: 'configuration',
      status: 200,
      duration_ms: 0,
      request_id: '',
      remote_addr: '',
      created_at: new Date(clock.now()).toISOString(),
      target: sections.filter((section) => current[section] !== previous[section]).join(','),
    });
  });
}
