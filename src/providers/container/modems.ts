// dockerode with restrictions: the configuration alone selects the engine, redirects are not followed, and connections are
// not rendered for debug output.
import http, { type ClientRequest } from 'node:http';
import https from 'node:https';
import { inspect } from 'node:util';
import type Docker from 'dockerode';
import type { Endpoint } from './endpoint.ts';

const CONNECTIONS = 64;
const SPARE = 8;

export type Modem = Docker['modem'];

export interface Modems {
  /** Reuses its connections. */
  kept: Modem;
  /** Opens a connection for each request. */
  own: Modem;
  /** Closes kept connections. */
  close(): void;
}

/** Loads dockerode on first use, because it is large. Opens no connection. */
export async function openModems({ docker, tls }: Endpoint): Promise<Modems> {
  const { default: Dockerode } = await import('dockerode');
  const agent = (options: http.AgentOptions) =>
    restricted(tls ? new https.Agent({ ...tls, ...options }) : new http.Agent(options));
  const keeping = agent({ keepAlive: true, maxSockets: CONNECTIONS, maxFreeSockets: SPARE });
  const modem = (one: http.Agent): Modem => {
    const options = { ...docker, agent: one };
    return withoutEnvironment(() => new Dockerode(options)).modem;
  };
  return { kept: modem(keeping), own: modem(agent({ keepAlive: false })), close: () => keeping.destroy() };
}

/** Runs `make` with an empty environment: a new modem reads DOCKER_HOST and similar variables, and throws for some. */
function withoutEnvironment<T>(make: () => T): T {
  const environment = process.env;
  process.env = {};
  try {
    return make();
  } finally {
    process.env = environment;
  }
}

interface Adding {
  addRequest(request: ClientRequest, ...rest: unknown[]): void;
}

/**
 * Removes `Location` headers: the modem would follow them with a request whose failure ends the process. Also shortens
 * the rendering of the agent, because the modem renders all options of each request.
 */
function restricted<T extends http.Agent>(agent: T): T {
  const { addRequest } = agent as unknown as Adding;
  return Object.assign(agent, {
    [inspect.custom]: () => 'Agent',
    addRequest: (request: ClientRequest, ...rest: unknown[]) => {
      request.prependListener('response', ({ headers }) => {
        delete headers.location;
      });
      addRequest.call(agent, request, ...rest);
    },
  });
}
