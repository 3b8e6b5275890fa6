// The volume that provides svc-agent to containers, one per engine and build. It is filled through a container that never
// starts (seed.ts), because no registry has the agent.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { findAgent } from '../../agent/binary.ts';
import { ServiceError } from '../../domain/errors.ts';
import { type Once, once } from '../../domain/once.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import { AGENT_FOLDER } from './container-body.ts';
import type { Engine } from './engine.ts';
import { refusedWith } from './engine-faults.ts';
import { LABEL } from './names.ts';
import { remove, takeSeed } from './seed.ts';
import { firstFile, tarOf } from './tar.ts';

const PATH = `${AGENT_FOLDER}/svc-agent`;
const MAX_ARCHIVE = 32 * 1024 * 1024;

interface AgentVolumeDeps {
  engine: Engine;
  clock: Clock;
  logger: Logger;
  instance: { id: string };
  packageRoot: string;
}

/** The name of the volume of this build, which is seeded first if needed. `forget` it when the volume is missing. */
export const agentVolume = (deps: AgentVolumeDeps): Once<string> => once(() => seeded(deps));

interface Build {
  bytes: Buffer;
  /** Name of the volume and the image, and part of the seeding container's name. */
  name: string;
}

async function seeded(deps: AgentVolumeDeps): Promise<string> {
  const build = await ownBuild(deps.packageRoot);
  await importImage(deps.engine, build);
  await makeVolume(deps.engine, build);
  const container = await takeSeed(deps, build.name);
  try {
    await fill(deps.engine, container, build);
  } finally {
    await remove(deps.engine, `/containers/${container}`, { force: 1 });
  }
  await removeOldBuilds(deps, build);
  return build.name;
}

async function ownBuild(packageRoot: string): Promise<Build> {
  const bytes = await readFile(await findAgent(packageRoot, process.arch));
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
  return { bytes, name: `svc-agent-${digest}` };
}

async function importImage(engine: Engine, { bytes, name }: Build): Promise<void> {
  const what = 'import the image of the agent';
  try {
    await engine.bytes({ method: 'GET', path: `/images/${name}:latest/json`, what });
  } catch (error) {
    if (!refusedWith(error, 404)) throw error;
    const query = { fromSrc: '-', repo: name, tag: 'latest', changes: `LABEL ${LABEL.agent}=${name}` };
    const body = tarOf({ path: 'svc-agent', bytes, mode: 0o755 });
    await engine.bytes({ method: 'POST', path: '/images/create', query, body, what });
  }
}

async function makeVolume(engine: Engine, { name }: Build): Promise<void> {
  const body = { Name: name, Labels: { [LABEL.agent]: name } };
  await engine.json({ method: 'POST', path: '/volumes/create', body, what: 'make the volume of the agent' });
}

/** Keeps an existing, complete file: sandboxes run from it. */
async function fill(engine: Engine, container: string, build: Build): Promise<void> {
  if (await holds(engine, container, build)) return;
  const archive = tarOf({ path: 'svc-agent', bytes: build.bytes, mode: 0o755 });
  const where = { path: `/containers/${container}/archive`, query: { path: AGENT_FOLDER } };
  await engine.bytes({ method: 'PUT', ...where, body: archive, what: 'store the agent' });
  if (await holds(engine, container, build)) return;
  throw new ServiceError('provider_error', 'The container engine did not store the guest agent.', {
    remedy: 'Check the free space for volumes on the engine.',
  });
}

async function holds(engine: Engine, container: string, { bytes }: Build): Promise<boolean> {
  const where = { path: `/containers/${container}/archive`, query: { path: PATH } };
  try {
    const archive = await engine.bytes({
      method: 'GET',
      ...where,
      what: 'read the agent',
      maxBytes: MAX_ARCHIVE,
    });
    return firstFile(archive)?.equals(bytes) ?? false;
  } catch (error) {
    if (refusedWith(error, 404)) return false;
    throw error;
  }
}

/** Removes unused volumes and images of other builds; a server that still needs one seeds it again. */
async function removeOldBuilds({ engine, logger }: AgentVolumeDeps, { name }: Build): Promise<void> {
  const query = { filters: { label: [LABEL.agent] } };
  const what = 'list old agents';
  try {
    const volumes = await engine.json({ method: 'GET', path: '/volumes', query, what });
    const images = await engine.json({ method: 'GET', path: '/images/json', query, what });
    const paths = [
      ...names((volumes as { Volumes?: unknown } | undefined)?.Volumes).map((old) => `/volumes/${old}`),
      ...tags(images).map((old) => `/images/${old}`),
    ];
    for (const path of paths.filter((each) => !each.includes(name))) await remove(engine, path);
  } catch (error) {
    logger.debug(
      { err: error },
      'Could not remove old builds of the agent from the engine; leaving them there.',
    );
  }
}

function names(volumes: unknown): string[] {
  return Array.isArray(volumes) ? volumes.map(({ Name }) => `${Name}`) : [];
}

/** Tags of images, so that an image keeps other names; ids of images without a tag. */
function tags(images: unknown): string[] {
  if (!Array.isArray(images)) return [];
  return images.flatMap(({ Id, RepoTags }) => {
    const tagged = ((RepoTags ?? []) as string[]).filter((tag) => !tag.includes('<none>'));
    return tagged.length > 0 ? tagged : [`${Id}`];
  });
}
