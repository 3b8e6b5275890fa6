// `svc serve`: configuration, log, server, signals, service manager. Resolves when the server has stopped.

import { ignoresKey } from '../config/ignored-key.ts';
import { liveConfig } from '../config/live-config.ts';
import type { LoadedConfig } from '../config/load.ts';
import { type ConfigOptions, loadProcessConfig } from '../config/process-config.ts';
import { replicaConfig } from '../config/replica-config.ts';
import { databaseName } from '../domain/database-address.ts';
import { parseDuration } from '../domain/duration.ts';
import type { LiveConfig } from '../domain/live-config.ts';
import type { Clock, Random } from '../domain/ports.ts';
import { steadyClock } from '../domain/steady-clock.ts';
import { realClock } from '../host/clock.ts';
import { fdSink, pacedSink } from '../host/fd-sink.ts';
import type { Host } from '../host/host.ts';
import { realIds } from '../host/ids.ts';
import { closeInherited } from '../host/inherited.ts';
import { roomForBuffers } from '../host/memory.ts';
import { packageRoot } from '../host/package-root.ts';
import { realRandom } from '../host/random.ts';
import { realHost } from '../host/real-host.ts';
import type { Redactor } from '../redact/engine.ts';
import { type GrowingRedactor, growingRedactor } from '../redact/growing.ts';
import { type Log, openLog } from '../redact/logger.ts';
import type { Config } from '../schema/config.ts';
import { reloader } from './reload.ts';
import { type RunningServer, serve } from './serve.ts';
import { CLOSE_MS, endWithin, onReloadSignal, stopSignal } from './signals.ts';
import { supervisor } from './supervisor.ts';

const STDERR = 2;

interface Parts {
  config: LiveConfig;
  log: Log;
  redactor: GrowingRedactor;
  host: Host;
  clock: Clock;
  random: Random;
  version: string;
}

export interface ServeFlags {
  config?: string | undefined;
  host?: string | undefined;
  port?: number | undefined;
  provider?: string | undefined;
}

/**
 * Serves until SIGTERM or SIGINT; a second signal ends the process at once. Throws what prevents the start or ends the
 * service.
 */
export async function runServer(flags: ServeFlags, version: string): Promise<void> {
  const layers = configLayers(flags);
  const load = () => replicaConfig(loadProcessConfig(layers));
  const loaded = load();
  closeInherited();
  const [clock, random, host] = [realClock(), realRandom(), realHost()];
  const redactor = growingRedactor(loaded.secrets);
  const log = logFor(loaded, redactor, clock);
  const config = liveConfig(loaded.config);
  config.onChange(({ logging }) => log.setLevel(logging.level));
  const watcher = supervisor({ host, clock, logger: log.logger, env: process.env, pid: process.pid });
  // Registered early: a stop during the start must close what is already open.
  const stop = stopSignal();
  // The start itself has just read this configuration.
  let reload = () => {};
  const deaf = onReloadSignal(() => reload());
  try {
    const server = await start({ config, log, redactor, host, clock, random, version });
    reload = reloader({
      config,
      logger: log.logger,
      redactor,
      supervisor: watcher,
      load,
    });
    roomForBuffers();
    announce(server.address, loaded, log);
    await watcher.ready(`Serving on ${server.address}`);
    const failure = await Promise.race([stop, server.lost]);
    deaf();
    if (failure) log.logger.error({ err: failure }, 'The server cannot continue; stopping.');
    else log.logger.info({}, 'Stopping after calls in flight finish.');
    endWithin(
      clock,
      parseDuration(loaded.config.server.shutdown_timeout, 'server.shutdown_timeout') + CLOSE_MS,
    );
    await watcher.stopping();
    await server.close();
    if (failure) throw failure;
  } finally {
    endWithin(clock);
    await log.close();
  }
}

function configLayers({ config, host, port, provider }: ServeFlags): ConfigOptions {
  return {
    file: config,
    flags: {
      server: { host, port },
      providers: { default: provider as Config['providers']['default'] | undefined },
    },
  };
}

function logFor({ config }: LoadedConfig, redactor: Redactor, clock: Clock): Log {
  const { level, format } = config.logging;
  const sink = pacedSink(fdSink(STDERR, clock), clock);
  const coloured = process.stderr.isTTY === true && !process.env.NO_COLOR;
  return openLog({ level, format, redactor, clock, sink, coloured });
}

function start({ log, random, clock: wall, ...parts }: Parts): Promise<RunningServer> {
  return serve({
    ...parts,
    wall,
    clock: steadyClock(wall),
    random,
    ids: realIds(random),
    logger: log.logger,
    recentLogs: log.recent,
    packageRoot: packageRoot(),
    runtimeDir: process.env.XDG_RUNTIME_DIR,
  });
}

/** Tells a person the address and a first command, and a parent process the address and the database. */
function announce(address: string, { config, files }: LoadedConfig, log: Log): void {
  const names = files.map(({ name }) => name).join(', ') || undefined;
  const facts = {
    address,
    provider: config.providers.default,
    config: names,
    database: databaseName(config.database),
  };
  log.logger.info(facts, `Serving on ${address}. Try: svc sandbox run -- uname -a`);
  if (ignoresKey(config.auth))
    log.logger.warn({}, 'A key is configured, but calls need none: set auth.enabled to true.');
  process.send?.({ address, database: databaseName(config.database) });
}
