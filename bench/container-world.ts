// What the container rows are measured in: an engine, a server over it, a sandbox that lives, and the means to make the
// same container without us.
import type { Client } from '../src/client/client.ts';
import { IMAGE, withEngine } from './engine.ts';
import { withHome } from './folders.ts';
import type { RawEngine } from './raw-engine.ts';
import { withServer } from './server.ts';

export interface ContainerWorld {
  address: string;
  client: Client;
  /** The server's process; `home` is its folder. */
  pid: number;
  home: string;
  raw: RawEngine;
  /** A sandbox that runs during all measurements. */
  live: string;
  /** Its container. */
  liveContainer: string;
  /** Creates a container with the options of a sandbox's but for `host`, that runs `command` with standard input open; its id. */
  create(command: readonly string[], host?: object): Promise<string>;
}

interface Inspected {
  Config: Record<string, unknown>;
  HostConfig: Record<string, unknown>;
}

/** `extra`: more variables for the server. */
export function withContainers(
  root: string,
  work: (world: ContainerWorld) => Promise<void>,
  extra: Record<string, string> = {},
): Promise<void> {
  return withHome((home) =>
    withEngine({ root, home }, ({ socket, raw, unshare }) => {
      const env = {
        SVC_PROVIDERS_DEFAULT: 'container',
        SVC_PROVIDERS_CONTAINER_ENABLED: 'true',
        SVC_PROVIDERS_CONTAINER_SOCKET: socket,
        SVC_PROVIDERS_CONTAINER_LINK: 'auto',
        SVC_DEFAULTS_IMAGE: IMAGE,
        SVC_DEFAULTS_MAX_SANDBOXES: '0',
        ...extra,
      };
      // As an engine on this host: its statistics take a second, and cgroups no time.
      return withServer(root, { home, env, beside: unshare }, async ({ address, client, pid }) => {
        const { id: live } = await client.spawn({ ttl: '8h' });
        const liveContainer = await containerOf(raw, live);
        const body = await bodyLike(raw, liveContainer);
        const create = async (command: readonly string[], host: object = {}) => {
          const HostConfig = { ...body.HostConfig, ...host };
          const changed = { ...body, HostConfig, Entrypoint: command };
          const { Id } = await raw.call<{ Id: string }>('POST', '/containers/create', changed);
          return Id;
        };
        await work({ address, client, pid, home, raw, live, liveContainer, create });
        await client.destroy(live);
      });
    }),
  );
}

async function containerOf(raw: RawEngine, sandbox: string): Promise<string> {
  const filters = encodeURIComponent(JSON.stringify({ label: [`svc.id=${sandbox}`] }));
  const [found] = await raw.call<{ Id: string }[]>('GET', `/containers/json?filters=${filters}`);
  if (!found) throw new Error('the engine has no container of the sandbox');
  return found.Id;
}

/** The body that creates this container again, from the engine's own description: the same options by construction. */
async function bodyLike(raw: RawEngine, container: string): Promise<{ HostConfig: object }> {
  const { Config, HostConfig } = await raw.call<Inspected>('GET', `/containers/${container}/json`);
  const { Labels: _labels, Hostname: _hostname, Cmd: _cmd, ...config } = Config;
  return { ...config, HostConfig };
}
