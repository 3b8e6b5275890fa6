// dockerode, made harmless: it is told where the engine is by the configuration alone, follows no redirect, and does not
// render its connections for a debug line that nobody prints.
import http, { type ClientRequest } from 'node:http';
import https from 'node:https';
import { inspect } from 'node:util';
import type Docker from 'dockerode';
import type { Endpoint } from './endpoint.ts';

const CONNECTIONS = 64;
const SPARE = 8;

export type Modem = Docker['modem'];

export interface Modems {
  /** Its connections are kept and used again. */
  kept: Modem;
  /** Each request has a connection of its own. */
  own: Modem;
  /** Ends kept connections. */
  close(): void;
}

/** Loads dockerode, which is heavy: only who runs containers has it. Opens no connection. */
export async function openModems({ docker, tls }: Endpoint): Promise<Modems> {
  const { default: Dockerode } = await import('dockerode');
  const agent = (options: http.AgentOptions) =>
    harmless(tls ? new https.Agent({ ...tls, ...options }) : new http.Agent(options));
  const keeping = agent({ keepAlive: true, maxSockets: CONNECTIONS, maxFreeSockets: SPARE });
  const modem = (one: http.Agent): Modem => {
    const options = { ...docker, agent: one };
    return unswayed(() => new Dockerode(options)).modem;
  };
  return { kept: modem(keeping), own: modem(agent({ keepAlive: false })), close: () => keeping.destroy() };
}

/** Without the environment: the modem reads DOCKER_HOST and its like when it is made, and throws for some of them. */
function unswayed<T>(make: () => T): T {
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
 * The modem would follow `Location` to wherever, on a request whose failure nobody hears, which ends the process; the
 * agent is the first to see a request. And it renders all options of each request: short for an agent that says little.
 */
function harmless<T extends http.Agent>(agent: T): T {
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
