// The HTTP server: it listens, answers, and stops without cutting off what runs.
import type { IncomingMessage } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { ControlPlane } from '../control/api/control-plane.ts';
import { EventLoopYield } from '../control/async/event-loop-yield.ts';
import { ServiceError } from '../domain/errors.ts';
import type { LiveConfig } from '../domain/live-config.ts';
import { isLoopbackHost } from '../domain/loopback.ts';
import type { Clock, Ids, Logger, Timer } from '../domain/ports.ts';
import type { Config } from '../schema/config.ts';
import { maxArchive } from './body/limits.ts';
import type { ServerFacts } from './call.ts';
import { type ConnectionLimits, limitConnections, mostConnections } from './connections.ts';
import { registerConsole } from './console/console.ts';
import { servedOpenapi } from './description/openapi.ts';
import { registerFacade } from './e2b/facade.ts';
import { answerPortFailure } from './e2b/port-answers.ts';
import { OWN_PORTS, opensPorts, ownTarget, portTarget, servePortOf } from './e2b/sandbox-ports.ts';
import { isByListener, type ListenerTls, type TlsListener, tlsListener } from './e2b/tls-listener.ts';
import { noteUnserved } from './e2b/unserved.ts';
import { createFastify } from './framework.ts';
import { keepHalfOpen } from './half-closed.ts';
import type { HttpConfig } from './http-config.ts';
import { type InFlight, inFlight } from './in-flight.ts';
import type { ServeMcp } from './mcp/exchange.ts';
import { registerMcp } from './mcp/routes.ts';
import { unroutedFailure } from './methods.ts';
import { type OpenStreams, openStreams } from './open-streams.ts';
import { API_PREFIX } from './paths.ts';
import { type Pipeline, pipeline } from './pipeline.ts';
import { previewGateway } from './previews/gateway.ts';
import { namesPort } from './previews/port-header.ts';
import { registerRoute } from './register.ts';
import { ROUTES } from './routes/routes.ts';
import { acceptUpgrades, type Upgrades } from './socket/upgrades.ts';

export interface HttpServerDeps {
  control: ControlPlane;
  config: LiveConfig<HttpConfig>;
  clock: Clock;
  ids: Ids;
  logger: Logger;
  version: string;
  /** The folder of the built console; it is not served unless given. */
  consoleFolder?: string;
  /** For `e2b.listen`, where it is set. */
  e2bTls?: ListenerTls | undefined;
  /** Files that this process may have open; no limit unless given. */
  maxFiles?: number;
  /** WebSockets at once; 1,024 unless given. */
  maxSockets?: number;
  /** How long the headers of a request may take; 15 s unless given. */
  headersTimeoutMs?: number;
  /** Answers messages of MCP, where it is enabled. */
  mcp?: ServeMcp;
}

export interface HttpServer {
  /** Begins to listen; its address, for example `http://127.0.0.1:7423`. Throws `unavailable` when it cannot. */
  listen(): Promise<string>;
  /** Takes no more, waits for calls in flight at most `graceMs`, then ends the rest. Idempotent. */
  close(graceMs: number): Promise<void>;
}

/** Built, not listening. Throws `bad_request` for a configuration that would open the service to everybody. */
export function createHttpServer(deps: HttpServerDeps): HttpServer {
  guardStart(deps.config.current());
  const running = inFlight();
  let closed: Promise<void> | undefined;
  const { config, clock, logger, control } = deps;
  const { server, e2b } = config.current();
  const { rates, audit, metrics, namedKeys } = deps.control;
  const previews = previewGateway({
    clock,
    logger,
    previews: deps.control.previews,
    server,
    inFlight: running,
    reserved: e2b.enabled ? OWN_PORTS : [],
    admits: (raw, sandbox_id) => e2b.enabled && opensPorts(control.dataAccess, raw, sandbox_id),
    connectionOf: (raw) => upgrades.of(raw),
    answerFailure: answerPortFailure,
    endWithKey: (request, response) => streams.add(request, response, () => request.raw.socket.destroy()),
  });
  const eventLoop = new EventLoopYield(deps.clock);
  const steps = pipeline({
    config,
    clock,
    logger,
    rates,
    named: namedKeys,
    audit,
    previews,
    ...(e2b.enabled && {
      servePortOf: (request, reply) => servePortOf(request, reply, { control, previews }),
    }),
    eventLoop,
    counted: metrics.request,
    inFlight: running,
    closing: () => closed !== undefined,
  });
  // Paths of previews are the guest's: the router must neither judge nor match them.
  const addressOf = (raw: IncomingMessage) =>
    namesPort(raw) || previews.targetOf(raw) !== undefined || (e2b.enabled && portTarget(raw) !== undefined)
      ? '/'
      : (raw.url ?? '');
  const app = createFastify({
    ...deps,
    always: steps.always,
    addressOf,
  });
  keepHalfOpen(app.server, deps.clock);
  const listener = limited(app, deps);
  app.server.on('connection', running.connected);
  const upgrades: Upgrades = acceptUpgrades(app, {
    clock: deps.clock,
    logger: deps.logger,
    maxMessageBytes: server.body_limit,
    maxSockets: deps.maxSockets,
    detached: running.detached,
  });
  const streams = openStreams(steps.endOf, clock);
  namedKeys.watch(streams.sweep);
  config.onChange(streams.sweep);
  registerAll(app, { ...deps, pipeline: steps, inFlight: running, upgrades, openStreams: streams });
  return {
    listen: async () => {
      const address = await listen(app, server);
      const port = await listener?.listen();
      if (port !== undefined)
        logger.info({ port, domain: server.preview_domain }, 'Serving programs for E2B with TLS.');
      return address;
    },
    close: (graceMs) => {
      if (!closed) {
        listener?.close();
        upgrades.closeAll();
        previews.closeAll();
      }
      closed ??= stop(app, running, deps.clock.after(graceMs, running.endAll));
      return closed;
    },
  };
}

/** Bounds the connections of the server, and makes its listener with TLS where it is to have one. */
function limited(app: FastifyInstance, deps: HttpServerDeps): TlsListener | undefined {
  const { server, e2b } = deps.config.current();
  const limits = connectionLimits(server, deps.maxFiles);
  limitConnections(app.server, limits, deps);
  if (!deps.e2bTls) return undefined;
  const limit = (secure: Server) => void limitConnections(secure, limits, deps);
  return tlsListener(app.server, { listen: e2b.listen, tls: deps.e2bTls, limit });
}

function connectionLimits(server: Config['server'], maxFiles = Number.POSITIVE_INFINITY): ConnectionLimits {
  const most = mostConnections(server.max_connections, maxFiles);
  return { most, perAddress: server.max_connections_per_address, unbounded: server.trusted_proxies };
}

/** The start-up guard (docs/design/api.md#access), whatever the configuration's own rules let through. */
function guardStart({ server, auth }: Pick<Config, 'server' | 'auth'>): void {
  if (auth.enabled && auth.api_key === undefined) {
    throw new ServiceError('bad_request', 'auth.enabled is true but auth.api_key is not set.', {
      remedy: 'Set auth.api_key.',
    });
  }
  if (auth.enabled || server.allow_insecure || isLoopbackHost(server.host)) return;
  throw new ServiceError(
    'bad_request',
    'Without authentication, the server listens only on loopback addresses.',
    {
      remedy: 'Set auth.enabled and auth.api_key, or server.host to 127.0.0.1.',
    },
  );
}

function registerAll(
  app: FastifyInstance,
  deps: HttpServerDeps & {
    pipeline: Pipeline;
    inFlight: InFlight;
    upgrades: Upgrades;
    openStreams: OpenStreams;
  },
): void {
  const shared = { ...deps, facts: factsOf(deps) };
  app.decorateRequest('authorized', undefined);
  app.decorateRequest('route', undefined);
  app.decorateRequest('identity', undefined);
  app.decorateRequest('address', '');
  app.decorateRequest('scheme', 'http');
  app.decorateRequest('preview', undefined);
  app.decorateRequest('created', undefined);
  app.decorateRequest('page', undefined);
  const unrouted = unroutedFailure(ROUTES);
  // Before the framework looks at the body, which nobody asked for.
  const { preview_domain } = deps.config.current().server;
  app.addHook('onRequest', (request, _reply, done) => {
    const { is404, raw } = request;
    // The name of a sandbox serves its data plane only. Each reading makes the options again.
    const isStray =
      (ownTarget(raw.headers, preview_domain) !== undefined && !isOfSandbox(request.routeOptions.config)) ||
      (isByListener(raw.socket) && !isOfFacade(request.routeOptions.config));
    if (is404) noteUnserved(deps.control, raw);
    done(isStray ? unrouted('/') : is404 ? unrouted(raw.url ?? '') : undefined);
  });
  app.register(
    async (api) => {
      for (const route of ROUTES) registerRoute(api, route, shared);
    },
    { prefix: API_PREFIX },
  );
  // Where tools look for it.
  app.get('/openapi.json', (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(shared.facts.openapi.json()),
  );
  const { e2b, mcp, console, auth, server } = deps.config.current();
  // Never open to a network without keys.
  if (!auth.enabled && !isLoopbackHost(server.host)) return;
  if (e2b.enabled) registerFacade(app, deps);
  if (mcp.enabled && deps.mcp) registerMcp(app, { ...deps, serve: deps.mcp });
  const { consoleFolder: folder } = deps;
  if (console.enabled && folder !== undefined) registerConsole(app, { folder, ids: deps.ids, unrouted });
}

/** Whether a route is of the interface of E2B: their control API (control-server.ts), or the data plane. */
const isOfFacade = (config: object) =>
  isOfSandbox(config) || (config as { isOfControl?: boolean }).isOfControl === true;

/** Whether a route is of the data plane (data-server.ts). */
const isOfSandbox = (config: object) => (config as { isOfSandbox?: boolean }).isOfSandbox === true;

function factsOf({ version, config }: HttpServerDeps): ServerFacts {
  const { server, images } = config.current();
  const sizes = {
    maxFileSize: server.max_file_size,
    maxArchiveSize: maxArchive(images),
    maxFolderSize: server.max_archive_size,
  };
  return { version, ...sizes, openapi: servedOpenapi(version) };
}

async function listen(app: FastifyInstance, { host, port }: Config['server']): Promise<string> {
  try {
    await app.listen({ host, port });
  } catch (cause) {
    const taken = (cause as NodeJS.ErrnoException).code === 'EADDRINUSE';
    const message = taken ? `Port ${port} is in use.` : `The server cannot listen on ${host}, port ${port}.`;
    const remedy = taken
      ? 'Stop the program that uses the port, or set server.port.'
      : 'Check server.host and server.port.';
    throw new ServiceError('unavailable', message, { cause, remedy });
  }
  const { address, port: bound, family } = app.server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`;
}

async function stop(app: FastifyInstance, running: InFlight, deadline: Timer): Promise<void> {
  const closed = app.close();
  running.drain();
  await closed;
  deadline.cancel();
}
