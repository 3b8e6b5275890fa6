// The address of the engine: a Unix socket, or a TCP address with or without TLS. Only the configuration selects the
// engine; DOCKER_HOST and similar variables are not read.
import { readFile } from 'node:fs/promises';
import type { AgentOptions } from 'node:https';
import { ServiceError } from '../../domain/errors.ts';
import type { ContainerConfig } from '../../schema/config-container.ts';

const DEFAULT_SOCKET = '/var/run/docker.sock';
const TLS_PORT = 2376;
const PLAIN_PORT = 2375;

export interface Endpoint {
  /** For the log and the probe; contains no secret. */
  label: string;
  /** Options of dockerode. */
  docker: { socketPath: string } | { protocol: 'http' | 'https'; host: string; port: number };
  /** Used for connections only, because dockerode may print its options. */
  tls?: AgentOptions;
}

type EndpointConfig = Pick<ContainerConfig, 'socket' | 'host' | 'tls'>;

/** Reads the TLS files. Throws `unavailable` with the configuration key of an unreadable file. */
export async function resolveEndpoint(config: EndpointConfig): Promise<Endpoint> {
  if (config.host === '') {
    const socketPath = config.socket || DEFAULT_SOCKET;
    return { label: `unix:${socketPath}`, docker: { socketPath } };
  }
  const secure = usesTls(config);
  const { hostname, port } = address(config.host, secure);
  const protocol = secure ? 'https' : 'http';
  const label = `${protocol}://${config.host.replace(/^\w+:\/\//, '')}`;
  const docker = { protocol, host: `${protocol}://${hostname}`, port } as const;
  return { label, docker, ...(secure && { tls: await tlsOptions(config.tls) }) };
}

/** A TLS file or an https address enables TLS. */
export function usesTls({ host, tls }: EndpointConfig): boolean {
  return host.startsWith('https://') || tls.ca_file !== '' || tls.cert_file !== '' || tls.key_file !== '';
}

function address(text: string, secure: boolean): { hostname: string; port: number } {
  const bare = text.replace(/^\w+:\/\//, '');
  try {
    const { hostname, port } = new URL(`http://${bare}`);
    const standard = secure ? TLS_PORT : PLAIN_PORT;
    // URL drops port 80 even if it is written.
    const written = /:(\d+)\/?$/.exec(bare)?.[1];
    return { hostname, port: Number(port || written || standard) };
  } catch (cause) {
    throw new ServiceError('unavailable', 'providers.container.host is not an address.', {
      cause,
      remedy: 'Write it like tcp://engine.internal:2376.',
    });
  }
}

async function tlsOptions({ ca_file, cert_file, key_file, verify }: ContainerConfig['tls']) {
  const [ca, cert, key] = await Promise.all([
    pem('ca_file', ca_file),
    pem('cert_file', cert_file),
    pem('key_file', key_file),
  ]);
  return {
    rejectUnauthorized: verify,
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
  };
}

async function pem(name: string, path: string): Promise<Buffer | undefined> {
  if (path === '') return undefined;
  try {
    return await readFile(path);
  } catch (cause) {
    throw new ServiceError('unavailable', `The file of providers.container.tls.${name} cannot be read.`, {
      cause,
      remedy: 'Check the path and its permissions.',
    });
  }
}
