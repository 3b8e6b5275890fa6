// Where the built agent is: in an installed package beside the bundle, prebuilt for each processor; in a checkout where
// `npm run build:agent` puts it.
import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../domain/errors.ts';

const ARCHITECTURES = ['x64', 'arm64'];

/** Paths of svc-agent, the best first. `architecture` as in `process.arch`. */
export function agentPlaces(packageRoot: string, architecture: string): string[] {
  return [
    join(packageRoot, 'dist', 'agent', `svc-agent-${architecture}`),
    join(packageRoot, 'agent', 'build', 'svc-agent'),
  ];
}

/** The first place that holds an executable file. `unavailable` when none does, or for another processor. */
export async function findAgent(packageRoot: string, architecture: string): Promise<string> {
  if (!ARCHITECTURES.includes(architecture))
    throw missing(`There is no guest agent for ${architecture} processors.`);
  for (const place of agentPlaces(packageRoot, architecture)) {
    const isThere = await access(place, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return place;
  }
  throw missing('The guest agent is not built.');
}

function missing(message: string): ServiceError {
  return new ServiceError('unavailable', message, {
    remedy: 'Run npm run build:agent, or install a packed release.',
  });
}
