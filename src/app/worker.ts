// Wires the worker: the only file that picks its providers, its journal and its connection to the control plane.
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { parseDuration } from '../domain/duration.ts';
import { ServiceError } from '../domain/errors.ts';
import { namesLoopback } from '../domain/outgoing-address.ts';
import type { Clock, Ids, Logger, Random } from '../domain/ports.ts';
import type { WorkerAuth } from '../domain/worker-secret.ts';
import type { Host } from '../host/host.ts';
import type { OutgoingTls } from '../providers/outgoing/connect.ts';
import { outgoing } from '../providers/outgoing/outgoing.ts';
import { providerRegistry } from '../providers/registry.ts';
import type { Config } from '../schema/config.ts';
import { PROVIDER_KINDS } from '../schema/provider.ts';
import type { WorkerJournal } from '../store/seam/worker-journal.ts';
import { openWorkerJournal } from '../store/sqlite/worker-journal.ts';
import { advertisedUrl, parseListen } from '../worker/addresses.ts';
import { type ControlLink, controlLink, type HeartbeatAnswer } from '../worker/control-link.ts';
import { requireCallable, type WorkerCredential } from '../worker/credential.ts';
import type { WorkerFacts } from '../worker/heartbeats.ts';
import { heartbeatOnce, type RunningWorker, type Serve, startWorker } from '../worker/worker.ts';
import { closeStack } from './close-stack.ts';
import { processLedger } from './process-ledger.ts';
import { storeProgram } from './store-program.ts';
import { type ChangingFiles, changingFiles, type WorkerFiles } from './worker-files.ts';

export interface WorkerProcessDeps {
  config: Config;
  /** Rereads the configuration. Throws if it is invalid. */
  reread(): Config;
  /** The value of `--worker-token`; replaces the configured credential of this worker. */
  token?: string | undefined;
  host: Host;
  clock: Clock;
  ids: Ids;
  random: Random;
  logger: Logger;
  version: string;
  packageRoot: string;
  /** The value of XDG_RUNTIME_DIR. */
  runtimeDir?: string | undefined;
}

const ANSWER_MS = 10_000;
const PEM_BYTES = 256 * 1024;

export const workerId = ({ worker }: Config): string => (worker.id === '' ? hostname() : worker.id);

/**
 * Starts the worker. Closes everything before it throws: `bad_request`, `conflict` (a worker with its id runs here),
 * `unavailable`.
 */
export async function openWorker(
  deps: WorkerProcessDeps,
): Promise<RunningWorker & Pick<WorkerJournal, 'lost'>> {
  const { config } = deps;
  const opened = closeStack();
  try {
    const near = await surroundings(deps);
    opened.push(near.close);
    const { id } = near;
    const path = join(dirname(config.database.path), `worker-${id}.db`);
    const journal = await openWorkerJournal({ ...deps, path, thread: storeProgram(deps.packageRoot) });
    opened.push(() => journal.close());
    const providers = await providerRegistry({
      ...deps,
      ledger: processLedger(config, deps.clock),
      config: config.providers,
      instance: journal.instance,
    });
    opened.push(() => providers.close());
    const worker = await startWorker({
      ...deps,
      ...near,
      providers,
      journal,
      maxSandboxes: placesOf(config),
      sessionsAllowed: config.worker.sessions,
    });
    const close = async (graceMs: number) => {
      await worker.close(graceMs);
      await opened.close();
    };
    return { rpcUrl: worker.rpcUrl, lost: journal.lost, close };
  } catch (error) {
    await opened.close().catch(() => undefined);
    throw error;
  }
}

/** Implements `svc worker --once`. Rejects as the control plane refuses. */
export async function beatOnce(deps: WorkerProcessDeps): Promise<HeartbeatAnswer> {
  const near = await surroundings(deps);
  // It starts nothing, so its runtimes need no stable name.
  const instance = { id: deps.ids.uuid(), key: deps.random.bytes(32).toString('hex') };
  const ledger = processLedger(deps.config, deps.clock);
  const providers = await providerRegistry({ ...deps, ledger, config: deps.config.providers, instance });
  const { serve, facts } = near;
  try {
    const rpcUrl = serve === undefined || serve.port === 0 ? undefined : serve.rpcUrl(serve.port);
    return await heartbeatOnce(
      { ...deps, ...near, providers, sessionsAllowed: deps.config.worker.sessions },
      { ...facts, rpcUrl },
    );
  } finally {
    await providers.close();
    await near.close();
  }
}

interface Surroundings {
  id: string;
  credential: WorkerCredential;
  link: ControlLink;
  heartbeatMs: number;
  facts: Omit<WorkerFacts, 'rpcUrl'>;
  serve: Serve | undefined;
  refresh: ChangingFiles['refresh'];
  close(): Promise<void>;
}

/** Checks everything that can be checked before anything is opened. */
async function surroundings(deps: WorkerProcessDeps): Promise<Surroundings> {
  const { config, host, clock, version } = deps;
  const id = workerId(config);
  const baseUrl = controlPlaneUrl(config.worker.control_plane_url);
  const files = await filesOf(deps, config);
  const line = (tls: OutgoingTls) =>
    outgoing({
      baseUrl,
      clock,
      timeoutMs: ANSWER_MS,
      what: 'The control plane',
      tls: { ...tls, ...(tls.ca !== undefined && { ca: [...rootCertificates, tls.ca].join('\n') }) },
    });
  const changing = changingFiles({
    ...deps,
    id,
    files,
    line,
    read: async () => filesOf(deps, deps.reread()),
  });
  const { credential, refresh } = changing;
  const capacity = { max_sandboxes: placesOf(config), memory_mb: host.memoryMb, vcpus: host.cpus };
  return {
    id,
    credential,
    refresh,
    serve: serveAt(config, files.tls, credential),
    link: controlLink({ outgoing: changing.outgoing, id, token: credential.token }),
    heartbeatMs: heartbeatMs(config),
    facts: { hostname: hostname(), version, capacity },
    close: () => changing.close(),
  };
}

/** Reads the files that `config` names for the running worker. */
async function filesOf(
  { config: own, token, host }: WorkerProcessDeps,
  config: Config,
): Promise<WorkerFiles> {
  const auth = authOf(config, workerId(own), token);
  return { auth, tls: await tlsTexts(host, config.worker.tls) };
}

function authOf({ auth }: Config, id: string, token: string | undefined): WorkerAuth {
  const { worker_revoked_tokens } = auth;
  return token === undefined || token === ''
    ? auth
    : { worker_tokens: { [id]: token }, worker_revoked_tokens };
}

function controlPlaneUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol) && !url.username && url.search === '' && url.hash === '')
    // Also accepts the base URL of the API.
    return text.replace(/\/api\/v1\/?$/, '');
  const what =
    text === '' ? 'The URL of the control plane is missing.' : 'The URL of the control plane is not valid.';
  throw new ServiceError('bad_request', what, {
    remedy:
      'Set --control-plane to its URL, for example https://svc.internal:7423 (worker.control_plane_url).',
  });
}

function heartbeatMs({ worker }: Config): number {
  const ms = parseDuration(worker.heartbeat_interval, 'worker.heartbeat_interval');
  if (ms >= 1000) return ms;
  throw new ServiceError('bad_request', 'worker.heartbeat_interval is below 1s.');
}

/** The sum of the configured provider limits; 0 if any provider is unlimited. */
function placesOf({ defaults, providers }: Config): number {
  if (defaults.max_sandboxes > 0) return defaults.max_sandboxes;
  const caps = PROVIDER_KINDS.map((kind) => providers[kind]).filter(({ enabled }) => enabled);
  return caps.every(({ max_sandboxes }) => max_sandboxes > 0)
    ? caps.reduce((sum, { max_sandboxes }) => sum + max_sandboxes, 0)
    : 0;
}

function serveAt({ worker }: Config, tls: OutgoingTls, credential: WorkerCredential): Serve | undefined {
  if (worker.listen_addr === '') return undefined;
  requireCallable(credential);
  const listen = parseListen(worker.listen_addr);
  const { cert, key } = tls;
  const secured = cert !== undefined && key !== undefined ? { ...tls, cert, key } : undefined;
  const isNear = namesLoopback(new URL(worker.control_plane_url));
  const rpcUrl = advertisedUrl({
    listen,
    advertise: worker.advertise_url,
    isTls: secured !== undefined,
    isNear,
    allowLoopback: isNear || worker.allow_loopback_rpc,
  });
  return { ...listen, tls: secured, rpcUrl };
}

async function tlsTexts(host: Host, tls: Config['worker']['tls']): Promise<OutgoingTls> {
  const [cert, key, ca] = await Promise.all([
    pem(host, tls.cert_file, 'worker.tls.cert_file'),
    pem(host, tls.key_file, 'worker.tls.key_file'),
    pem(host, tls.ca_file, 'worker.tls.ca_file'),
  ]);
  if ((cert === undefined) !== (key === undefined))
    throw new ServiceError('bad_request', 'worker.tls needs both a certificate and its key.', {
      remedy: 'Set worker.tls.cert_file and worker.tls.key_file.',
    });
  return { ...(cert && { cert }), ...(key && { key }), ...(ca && { ca }) };
}

async function pem(host: Host, path: string, name: string): Promise<string | undefined> {
  if (path === '') return undefined;
  const text = (await host.read(path, PEM_BYTES))?.toString();
  if (text?.includes('-----BEGIN ')) return text;
  throw new ServiceError('bad_request', `The file that ${name} names cannot be read as PEM.`);
}
