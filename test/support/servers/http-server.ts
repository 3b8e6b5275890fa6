// The HTTP server over a fake control plane on a free loopback port, and raw sockets to speak to it.
import { connect } from 'node:net';
import type { ByteLedger } from '../../../src/domain/byte-ledger.ts';
import type { Clock } from '../../../src/domain/ports.ts';
import { realClock } from '../../../src/host/clock.ts';
import type { HttpConfig } from '../../../src/http/http-config.ts';
import type { HttpServer } from '../../../src/http/server.ts';
import { createHttpServer } from '../../../src/http/server.ts';
import { serveExchange } from '../../../src/mcp/exchange.ts';
import type { Config } from '../../../src/schema/config.ts';
import { fixedConfig, testConfig } from '../config.ts';
import { type FakeControlPlane, fakeControlPlane } from '../fakes/control-plane.ts';
import { fakeIds, type RecordingLogger, recordingLogger } from '../fakes/ports.ts';

export const API_KEY = 'api-key-0123456789abcdef0123456789abcdef';
export const ADMIN_KEY = 'admin-key-0123456789abcdef0123456789abcdef';

const MEBIBYTE = 1024 * 1024;

export interface HttpOptions {
  server?: Partial<Config['server']>;
  auth?: Partial<Config['auth']>;
  audit?: Partial<Config['audit']>;
  e2b?: Partial<Config['e2b']>;
  mcp?: Partial<Config['mcp']>;
  console?: Partial<Config['console']>;
  consoleFolder?: string;
  images?: Partial<HttpConfig['images']>;
  rate_limit?: Partial<Config['rate_limit']>;
  clock?: Clock;
  headersTimeoutMs?: number;
  maxSockets?: number;
  ledger?: ByteLedger;
}

export interface TestHttp {
  server: HttpServer;
  control: FakeControlPlane;
  logger: RecordingLogger;
  /** Base with `/api/v1`. */
  base: string;
  url: string;
  port: number;
}

export async function startHttp(options: HttpOptions = {}): Promise<TestHttp> {
  const control = fakeControlPlane(options);
  const logger = recordingLogger();
  const server = createHttpServer({
    control,
    config: fixedConfig(httpConfig(options)),
    clock: options.clock ?? realClock(),
    ids: fakeIds(),
    logger,
    version: '9.9.9',
    mcp: (exchange) => serveExchange(exchange, { version: '9.9.9', clock: realClock(), logger }),
    ...(options.consoleFolder === undefined ? {} : { consoleFolder: options.consoleFolder }),
    ...(options.maxSockets === undefined ? {} : { maxSockets: options.maxSockets }),
    ...(options.headersTimeoutMs === undefined ? {} : { headersTimeoutMs: options.headersTimeoutMs }),
  });
  const url = await server.listen();
  return { server, control, logger, url, base: `${url}/api/v1`, port: Number(new URL(url).port) };
}

export function httpConfig({ server, auth, audit, images, e2b, mcp, console }: HttpOptions): HttpConfig {
  return {
    server: {
      host: '127.0.0.1',
      port: 0,
      allow_insecure: false,
      advertise_url: '',
      body_limit: MEBIBYTE,
      max_json_file: 8 * MEBIBYTE,
      max_file_size: 16 * MEBIBYTE,
      max_archive_size: 16 * MEBIBYTE,
      max_connections: 0,
      max_connections_per_address: 512,
      cors_allowed_origins: [],
      trusted_proxies: [],
      buffer_limit: 0,
      preview_domain: '',
      preview_access: 'public',
      preview_scheme: 'auto',
      shutdown_timeout: '1s',
      ...server,
    },
    auth: {
      enabled: false,
      admin_fallback_enabled: true,
      enforce_owner: false,
      quota_writes: 'api',
      admin_audit_retention: '24h',
      worker_revoked_tokens: [],
      ...auth,
    },
    e2b: { ...testConfig().e2b, ...e2b },
    mcp: { enabled: false, ...mcp },
    console: { ...testConfig().console, ...console },
    audit: { execs: false, max_records: 1000, ...audit },
    images: { writes: 'admin', max_image_bytes: 16 * MEBIBYTE, max_entries: 1000, ...images },
  };
}

/** Sends `bytes` as they are and reads until the other side closes or `ms` have passed. */
export function rawExchange(
  port: number,
  bytes: string | Buffer,
  ms = 3_000,
): Promise<{ text: string; closed: boolean }> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const parts: Buffer[] = [];
    const finish = (closed: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ text: Buffer.concat(parts).toString('latin1'), closed });
    };
    const timer = setTimeout(() => finish(false), ms);
    socket.on('data', (part) => parts.push(part));
    socket.on('error', () => {});
    socket.on('close', () => finish(true));
    socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  });
}
