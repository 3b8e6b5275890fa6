// `svc serve`: configuration, log, server, signals. Resolves when the server has stopped.

import type { LoadedConfig } from '../config/load.ts';
import { loadConfigHere } from '../config/load-here.ts';
import type { Clock, Random } from '../domain/ports.ts';
import { realClock } from '../host/clock.ts';
import { fdSink } from '../host/fd-sink.ts';
import { realIds } from '../host/ids.ts';
import { packageRoot } from '../host/package-root.ts';
import { realRandom } from '../host/random.ts';
import { realHost } from '../host/real-host.ts';
import { redactor } from '../redact/engine.ts';
import { type Log, openLog } from '../redact/logger.ts';
import { type RunningServer, serve } from './serve.ts';
import { configLayers, type ServeFlags } from './serve-flags.ts';

const STDERR = 2;

/** Serves until SIGTERM, SIGINT or SIGHUP; a second one ends at once. Throws what keeps it from starting. */
export async function runServer(flags: ServeFlags, version: string): Promise<void> {
  const loaded = loadConfigHere(configLayers(flags));
  const [clock, random] = [realClock(), realRandom()];
  const log = logFor(loaded, clock);
  // Heard from here on: a stop while it starts must close what is open by then, as every other does.
  const stop = stopSignal();
  try {
    const server = await start(loaded, { log, clock, random, version });
    announce(server.address, loaded, log);
    await stop;
    log.logger.info({}, 'Stopping; calls in flight are finished first.');
    await server.close();
  } finally {
    await log.close();
  }
}

function logFor({ config, secrets }: LoadedConfig, clock: Clock): Log {
  const { level, format } = config.logging;
  const sink = fdSink(STDERR, clock);
  return openLog({
    level,
    format,
    redactor: redactor({ secrets }),
    clock,
    sink,
    coloured: process.stderr.isTTY === true && !process.env.NO_COLOR,
  });
}

function start(
  { config, secrets }: LoadedConfig,
  { log, clock, random, version }: { log: Log; clock: Clock; random: Random; version: string },
): Promise<RunningServer> {
  return serve({
    config,
    host: realHost(),
    clock,
    ids: realIds(random),
    random,
    logger: log.logger,
    recentLogs: log.recent,
    redactor: redactor({ secrets }),
    version,
    packageRoot: packageRoot(),
    runtimeDir: process.env.XDG_RUNTIME_DIR,
  });
}

/** Tells a person where it serves and what to try, and a parent process the address. */
function announce(address: string, { config, file }: LoadedConfig, log: Log): void {
  const facts = { address, provider: config.providers.default, config: file, database: config.database.path };
  log.logger.info(facts, `Serving on ${address}. Try: svc sandbox run -- uname -a`);
  process.send?.({ address });
}

function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
      process.once(signal, () => {
        process.once(signal, () => process.exit(130));
        resolve();
      });
    }
  });
}
