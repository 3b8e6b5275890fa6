// Containers that are reached by a link, as tests look at them: what the server logs of it, its folders, and mounts.
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
