// `svc worker`: configuration, log, worker, signals, service manager. Resolves when the worker has stopped.
import { type ConfigOptions, loadProcessConfig } from '../config/process-config.ts';
import { parseDuration } from '../domain/duration.ts';
import type { Clock } from '../domain/ports.ts';
import { realClock } from '../host/clock.ts';
import { fdSink } from '../host/fd-sink.ts';
import { realIds } from '../host/ids.ts';
import { closeInherited } from '../host/inherited.ts';
import { roomForBuffers } from '../host/memory.ts';
import { packageRoot } from '../host/package-root.ts';
import { realRandom } from '../host/random.ts';
import { realHost } from '../host/real-host.ts';
import { growingRedactor } from '../redact/growing.ts';
import { type Log, openLog } from '../redact/logger.ts';
import { CLOSE_MS, endWithin, onReloadSignal, stopSignal } from './signals.ts';
import { supervisor } from './supervisor.ts';
import { beatOnce, openWorker, type WorkerProcessDeps, workerId } from './worker.ts';

const STDERR = 2;

export interface WorkerFlags {
  config?: string | undefined;
  id?: string | undefined;
  'control-plane'?: string | undefined;
  'worker-token'?: string | undefined;
  'heartbeat-interval'?: string | undefined;
  listen?: string | undefined;
  advertise?: string | undefined;
}

/** Works until SIGTERM or SIGINT; a second signal ends the process at once. Throws what prevents the start. */
export async function runWorker(flags: WorkerFlags, version: string): Promise<void> {
  const { deps, log } = prepared(flags, version);
  closeInherited();
  const { config, host, clock, logger } = deps;
  const watcher = supervisor({ host, clock, logger, env: process.env, pid: process.pid });
  const graceMs = parseDuration(config.worker.shutdown_timeout, 'worker.shutdown_timeout');
  const stop = stopSignal();
  const awake = stayAwake(clock);
  const deaf = onReloadSignal(() =>
    logger.warn(
      {},
      'A worker reloads its credential and certificates by itself. Restart it to apply other changes.',
    ),
  );
  try {
    const worker = await openWorker(deps);
    roomForBuffers();
    const { rpcUrl, controlPlane } = worker;
    const words = rpcUrl === undefined ? 'accepts no calls' : `accepts calls at ${rpcUrl}`;
    const status = `Worker ${workerId(config)} ${words} and reports to ${controlPlane}`;
    logger.info({ worker_id: workerId(config), rpc_url: rpcUrl, control_plane: controlPlane }, `${status}.`);
    process.send?.({ address: worker.rpcUrl ?? '' });
    await watcher.ready(status);
    const failure = await Promise.race([stop, worker.lost]);
    deaf();
    if (failure) logger.error({ err: failure }, 'The worker cannot continue; stopping.');
    else
      logger.info(
        {},
        'Stopping after calls in flight finish. Sandboxes keep running until their leases expire.',
      );
    endWithin(clock, graceMs + CLOSE_MS);
    await watcher.stopping();
    await worker.close(graceMs);
    if (failure) throw failure;
  } finally {
    awake.abort();
    endWithin(clock);
    await log.close();
  }
}

/** Sends one heartbeat and returns the control plane's answer. Throws its refusal. */
export async function runWorkerOnce(
  flags: WorkerFlags,
  version: string,
): Promise<{ worker_id: string; status: string }> {
  const { deps, log } = prepared(flags, version);
  const awake = stayAwake(deps.clock);
  try {
    const { status } = await beatOnce(deps);
    return { worker_id: workerId(deps.config), status: typeof status === 'string' ? status : 'unknown' };
  } finally {
    awake.abort();
    await log.close();
  }
}

/**
 * Child processes and timers of a worker do not keep the process alive; without this, a worker that accepts no calls
 * would exit while it waits.
 */
function stayAwake(clock: Clock): AbortController {
  const until = new AbortController();
  clock.sleep(Number.MAX_SAFE_INTEGER, until.signal).catch(() => undefined);
  return until;
}

/** Leaves out `--worker-token`: it belongs to one worker and is not part of the configuration. */
function workerLayers(flags: WorkerFlags): ConfigOptions {
  return {
    file: flags.config,
    flags: {
      worker: {
        id: flags.id,
        control_plane_url: flags['control-plane'],
        heartbeat_interval: flags['heartbeat-interval'],
        listen_addr: flags.listen,
        advertise_url: flags.advertise,
      },
    },
  };
}

function prepared(flags: WorkerFlags, version: string): { deps: WorkerProcessDeps; log: Log } {
  const read = () => loadProcessConfig(workerLayers(flags));
  const { config, secrets } = read();
  const token = flags['worker-token'];
  const [clock, random, host] = [realClock(), realRandom(), realHost()];
  const redactor = growingRedactor(token === undefined ? secrets : [...secrets, token]);
  const { level, format } = config.logging;
  const coloured = process.stderr.isTTY === true && !process.env.NO_COLOR;
  const log = openLog({ level, format, redactor, clock, sink: fdSink(STDERR, clock), coloured });
  const reread = () => {
    const { config: now, secrets: more } = read();
    redactor.add(more);
    return now;
  };
  const deps = {
    config,
    reread,
    token,
    conceal: (secret: string) => redactor.add([secret]),
    concealed: (secret: string) => redactor.hold(secret),
    host,
    clock,
    random,
    version,
    ids: realIds(random),
    logger: log.logger,
    packageRoot: packageRoot(),
    runtimeDir: process.env.XDG_RUNTIME_DIR,
  };
  return { deps, log };
}
