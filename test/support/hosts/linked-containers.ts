// Containers that are reached by a link, as tests look at them: what the server logs of it, its folders, and mounts.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { type Server, Socket } from 'node:net';
import { join } from 'node:path';
import type { Provider } from '../../../src/providers/provider.ts';
import { type RecordingLogger, recordingLogger } from '../fakes/ports.ts';
import { type ContainerHome, containerHome } from './container.ts';
import type { Engine } from './engine.ts';

export const LINKED = 'The agent has connected to a socket of this server.';
export const OFF = / Sandboxes are reached through the engine; trying again in 10 minutes\.$/;

export interface LinkWorld {
  place: ContainerHome;
  provider: Provider;
  logger: RecordingLogger;
}

export function worldOf(
  engine: Pick<Engine, 'socket'>,
  config: Parameters<ContainerHome['provider']>[0] = {},
): LinkWorld {
  const place = containerHome(engine.socket);
  const logger = recordingLogger();
  return { place, logger, provider: place.provider({ link: 'auto', ...config }, place.instance, logger) };
}

export const linksOf = ({ place }: LinkWorld) =>
  join('/run/svc', place.instance.id.replaceAll('-', '').slice(0, 12), 'links');
export const said = ({ logger }: LinkWorld, what: string | RegExp) =>
  logger.lines.filter(({ message }) => (typeof what === 'string' ? message === what : what.test(message)))
    .length;

export async function mountsOf(engine: Pick<Engine, 'api'>, id: string): Promise<string[]> {
  const [{ Id = '' } = {}] = await engine.api.containers(`svc.id=${id}`);
  const { body } = await engine.api.call<{ Mounts: { Destination: string }[] }>(
    'GET',
    `/containers/${Id}/json`,
  );
  return body.Mounts.map(({ Destination }) => Destination);
}

/** Connections of agents to this process. */
export function linkSockets(world: LinkWorld): Socket[] {
  const { _getActiveHandles } = process as unknown as { _getActiveHandles(): unknown[] };
  const isLink = (handle: unknown): handle is Socket =>
    handle instanceof Socket &&
    `${(handle as { server?: Server }).server?.address() ?? ''}`.startsWith(linksOf(world));
  return _getActiveHandles().filter(isLink);
}

/** Takes a copy of each socket of a process that is connected to a link, and shuts it down. */
const SHUT = `
import ctypes, os, socket, sys
pid, shut = int(sys.argv[1]), 0
call, pidfd = ctypes.CDLL(None, use_errno=True).syscall, os.pidfd_open(int(sys.argv[1]))
for name in os.listdir(f'/proc/{pid}/fd'):
    # Pipes come and go meanwhile.
    try:
        if not os.readlink(f'/proc/{pid}/fd/{name}').startswith('socket:'): continue
        one = socket.socket(fileno=call(438, pidfd, int(name), 0))
        if str(one.getpeername()).startswith(sys.argv[2]):
            one.shutdown(socket.SHUT_RDWR)
            shut += 1
    except OSError:
        pass
sys.exit(shut != 1)
`;

/** Breaks the link of the only container of this world at its agent, which is process 1 inside. Only under runc. */
export function shutAgentsLink(world: LinkWorld): void {
  const [name = ''] = readdirSync(linksOf(world));
  const isAgent = (pid: string) => {
    try {
      const mounts = readFileSync(`/proc/${pid}/mountinfo`, 'utf8');
      return (
        mounts.includes(`/links/${name} `) &&
        /^NSpid:.*\t1$/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
      );
    } catch {
      return false;
    }
  };
  const pid =
    readdirSync('/proc')
      .filter((entry) => /^\d+$/.test(entry))
      .find(isAgent) ?? '';
  execFileSync('python3', ['-c', SHUT, pid, linksOf(world)]);
}
