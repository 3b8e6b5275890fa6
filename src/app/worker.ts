// Wires the worker: the only file that picks its providers, its journal and its connection to the control plane.
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { parseDuration } from '../domain/duration.ts';
import { ServiceError } from '../domain/errors.ts';
import type { ListenAddress } from '../domain/listen-address.ts';
import { isLoopbackHost } from '../domain/loopback.ts';
import { namesLoopback } from '../domain/outgoing-address.ts';
import type { Clock, Ids, Logger, Random } from '../domain/ports.ts';
import { type WorkerAuth, workerSecrets } from '../domain/worker-secret.ts';
import type { Host } from '../host/host.ts';
import type { OutgoingTls } from '../providers/outgoing/connect.ts';
import { outgoing } from '../providers/outgoing/outgoing.ts';
import { providerRegistry } from '../providers/registry.ts';
import type { Config } from '../schema/config.ts';
import { PROVIDER_KINDS } from '../schema/provider.ts';
import type { WorkerJournal } from '../store/seam/worker-journal.ts';
import { openWorkerJournal } from '../store/sqlite/worker-journal.ts';
import { advertisedUrl } from '../worker/addresses.ts';
import { type ControlLink, controlLink, type HeartbeatAnswer } from '../worker/control-link.ts';
import { requireCallable, requireWorkerId, type WorkerCredential } from '../worker/credential.ts';
import type { WorkerFacts } from '../worker/heartbeats.ts';
import { heartbeatOnce, type RunningWorker, type Serve, startWorker } from '../worker/worker.ts';
import { closeStack } from './close-stack.ts';
import { processImages, runsImages } from './image-pulls.ts';
import { workerEgress } from './process-egress.ts';
import { processLedger } from './process-ledger.ts';
import { storeProgram } from './store-program.ts';
import { type ChangingFiles, changingFiles, type WorkerFiles } from './worker-files.ts';
import { controlPlaneUrl, isDefaultListen, listenAddress, withoutDefaultListen } from './worker-listen.ts';
import { keptSecret, requireLoopback } from './worker-own-secret.ts';

export interface WorkerProcessDeps {
  config: Config;
  /** Rereads the configuration. Throws if it is invalid. */
  reread(): Config;
  /** The value of `--worker-token`; replaces the configured credential of this worker. */
  token?: string | undefined;
  /** Keeps a secret out of the log. */
  conceal(secret: string): void;
  /** Keeps a secret out of the log until the returned function is called. */
  concealed(secret: string): () => void;
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
/** A server that restarts learns the secret of a worker on its machine with the next heartbeat. */
const OWN_HEARTBEAT_MS = 5000;

export const workerId = ({ worker }: Config): string => (worker.id === '' ? hostname() : worker.id);

/**
 * Starts the worker. Closes everything before it throws: `bad_request`, `conflict` (a worker with its id runs here),
 * `unavailable`.
 */
export async function openWorker(
  deps: WorkerProcessDeps,
): Promise<RunningWorker & Pick<WorkerJournal, 'lost'> & { controlPlane: string }> {
  const { config } = deps;
  const opened = closeStack();
  try {
    const near = await surroundings(deps);
    opened.push(near.close);
    const { id } = near;
    const path = `${statePath(config, id)}.db`;
    const journal = await openWorkerJournal({ ...deps, path, thread: storeProgram(deps.packageRoot) });
    opened.push(() => journal.close());
    const own = await processImages(deps);
    if (own) opened.push(() => own.close());
    const providers = await providerRegistry({
      ...deps,
      ledger: processLedger(config, deps.clock),
      config: config.providers,
      images: config.images,
      pulls: own?.pulls,
      disks: own?.disks,
      instance: journal.instance,
    });
    opened.push(() => providers.close());
    const worker = await startWorker({
      ...deps,
      ...near,
      providers,
      journal,
      imageStore: runsImages(providers.all) ? own?.images : undefined,
      maxSandboxes: placesOf(config),
      sessionsAllowed: config.worker.sessions,
      egressParts: workerEgress(deps),
    });
    const close = async (graceMs: number) => {
      await worker.close(graceMs);
      await opened.close();
    };
    return { rpcUrl: worker.rpcUrl, controlPlane: near.controlPlane, lost: journal.lost, close };
  } catch (error) {
    await opened.close().catch(() => undefined);
    throw error;
  }
}

/** Implements `svc worker --once`. Rejects as the control plane refuses. */
export async function beatOnce(given: WorkerProcessDeps): Promise<HeartbeatAnswer> {
  const deps = { ...given, config: withoutDefaultListen(given.config) };
  const near = await surroundings(deps);
  // It starts nothing, so its runtimes need no stable name.
  const instance = { id: deps.ids.uuid(), key: deps.random.bytes(32).toString('hex') };
  const ledger = processLedger(deps.config, deps.clock);
  const { providers: config, images } = deps.config;
  const providers = await providerRegistry({ ...deps, ledger, config, images, instance });
  const { serve, facts } = near;
  try {
    const rpcUrl = serve === undefined || serve.port === 0 ? undefined : serve.rpcUrl(serve.port);
    return await heartbeatOnce({ ...deps, ...near, providers, ...offered(deps) }, { ...facts, rpcUrl });
  } finally {
    await providers.close();
    await near.close();
  }
}

const offered = ({ config: { worker, egress } }: WorkerProcessDeps) => ({
  sessionsAllowed: worker.sessions,
  holdsEgress: egress.enabled,
});

/** The files of a worker's state begin so. */
const statePath = ({ database, worker }: Config, id: string) =>
  join(worker.state_dir === '' ? dirname(database.path) : worker.state_dir, `worker-${id}`);

interface Surroundings {
  id: string;
  controlPlane: string;
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
  const baseUrl = controlPlaneUrl(config);
  const listen = await listenAddress(config.worker, baseUrl, clock);
  const own = ownSecret(deps, () => requireLoopback(baseUrl, listen?.host));
  const files = await filesOf(deps, config, own);
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
    read: async () => filesOf(deps, deps.reread(), own),
  });
  const { credential, refresh } = changing;
  // A signed token is enough for heartbeats; nobody asked for more.
  const isMute = credential.isReadyMade && isDefaultListen(config);
  const capacity = { max_sandboxes: placesOf(config), memory_mb: host.memoryMb, vcpus: host.cpus };
  return {
    id,
    credential,
    refresh,
    controlPlane: baseUrl,
    serve: serveAt({ ...deps, credential, listen: isMute ? undefined : listen, baseUrl }, files.tls),
    link: controlLink({ outgoing: changing.outgoing, id, token: credential.token }),
    heartbeatMs: Math.min(
      heartbeatMs(config),
      credential.isOwn ? OWN_HEARTBEAT_MS : Number.POSITIVE_INFINITY,
    ),
    facts: { hostname: hostname(), version, capacity, labels: config.worker.labels },
    close: () => changing.close(),
  };
}

/** Reads or makes the secret of a worker without a credential, once. Throws where `require` does. */
function ownSecret({ config, random, conceal }: WorkerProcessDeps, require: () => void): () => string {
  let secret: string | undefined;
  return () => {
    require();
    if (secret === undefined) {
      secret = keptSecret(`${statePath(config, workerId(config))}.secret`, random);
      conceal(secret);
    }
    return secret;
  };
}

/** Reads the files that `config` names for the running worker. */
async function filesOf(
  { config: started, token, host }: WorkerProcessDeps,
  config: Config,
  own: () => string,
): Promise<WorkerFiles> {
  const id = workerId(started);
  requireWorkerId(id);
  const given = authOf(config, id, token);
  const auth = workerSecrets(given, id).length === 0 ? { worker_tokens: { [id]: own() } } : given;
  return { auth, tls: await tlsTexts(host, config.worker.tls) };
}

function authOf({ auth }: Config, id: string, token: string | undefined): WorkerAuth {
  const { worker_revoked_tokens } = auth;
  return token === undefined || token === ''
    ? auth
    : { worker_tokens: { [id]: token }, worker_revoked_tokens };
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

interface ServeOptions {
  config: Config;
  logger: Logger;
  credential: WorkerCredential;
  listen: ListenAddress | undefined;
  /** The URL of the control plane. */
  baseUrl: string;
}

function serveAt(
  { config: { worker }, logger, credential, listen, baseUrl }: ServeOptions,
  tls: OutgoingTls,
): Serve | undefined {
  if (listen === undefined) return undefined;
  requireCallable(credential);
  const { cert, key } = tls;
  const secured = cert !== undefined && key !== undefined ? { ...tls, cert, key } : undefined;
  const isNear = namesLoopback(new URL(baseUrl));
  const rpcUrl = advertisedUrl({
    listen,
    advertise: worker.advertise_url,
    isTls: secured !== undefined,
    isNear,
    allowLoopback: isNear || worker.allow_loopback_rpc,
  });
  if (!secured && !isLoopbackHost(listen.host) && !/^https:/i.test(worker.advertise_url))
    logger.warn(
      { host: listen.host, port: listen.port },
      'This worker accepts calls from other machines without TLS: others on the network can read tokens, commands and files. Set worker.tls.cert_file and worker.tls.key_file.',
    );
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
