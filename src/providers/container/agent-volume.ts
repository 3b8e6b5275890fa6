// The volume that brings svc-agent into containers, one per engine and build. It is filled through a container that is
// never started, because no registry has the agent (seed.ts).
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { findAgent } from '../../agent/binary.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import { AGENT_FOLDER } from './container-body.ts';
import type { Engine } from './engine.ts';
import { refusedWith } from './engine-faults.ts';
import { LABEL } from './names.ts';
import { remove, takeSeed } from './seed.ts';
import { firstFile, tarOf } from './tar.ts';

const PATH = `${AGENT_FOLDER}/svc-agent`;
const MAX_ARCHIVE = 32 * 1024 * 1024;
const NEVER = new AbortController().signal;

export interface AgentVolumeDeps {
  engine: Engine;
  clock: Clock;
  logger: Logger;
  instance: { id: string };
  packageRoot: string;
}

export interface AgentVolume {
  /** The name of a volume that holds this build; seeds it when it has to, for many callers once. */
  ready(): Promise<string>;
  /** It turned out not to be there: the next `ready` looks again. */
  forget(): void;
}

export function agentVolume(deps: AgentVolumeDeps): AgentVolume {
  let seeding: Promise<string> | undefined;
  return {
    ready: () => {
      seeding ??= seeded(deps).catch((error: unknown) => {
        seeding = undefined;
        throw error;
      });
      return seeding;
    },
    forget: () => {
      seeding = undefined;
    },
  };
}

interface Build {
  bytes: Buffer;
  /** Also of the volume, the image and the container that seeds. */
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
    await engine.bytes({ method: 'GET', path: `/images/${name}:latest/json`, what }, NEVER);
  } catch (error) {
    if (!refusedWith(error, 404)) throw error;
    const query = { fromSrc: '-', repo: name, tag: 'latest', changes: `LABEL ${LABEL.agent}=${name}` };
    const body = tarOf({ path: 'svc-agent', bytes, mode: 0o755 });
    await engine.bytes({ method: 'POST', path: '/images/create', query, body, what }, NEVER);
  }
}

async function makeVolume(engine: Engine, { name }: Build): Promise<void> {
  const body = { Name: name, Labels: { [LABEL.agent]: name } };
  await engine.json(
    { method: 'POST', path: '/volumes/create', body, what: 'make the volume of the agent' },
    NEVER,
  );
}

/** A file that is already there and whole stays as it is: sandboxes run from it. */
async function fill(engine: Engine, container: string, build: Build): Promise<void> {
  if (await holds(engine, container, build)) return;
  const archive = tarOf({ path: 'svc-agent', bytes: build.bytes, mode: 0o755 });
  const where = { path: `/containers/${container}/archive`, query: { path: AGENT_FOLDER } };
  await engine.bytes({ method: 'PUT', ...where, body: archive, what: 'store the agent' }, NEVER);
  if (await holds(engine, container, build)) return;
  throw new ServiceError('provider_error', 'The container engine did not store the guest agent.', {
    remedy: 'Check the free space for volumes on the engine.',
  });
}

async function holds(engine: Engine, container: string, { bytes }: Build): Promise<boolean> {
  const where = { path: `/containers/${container}/archive`, query: { path: PATH } };
  try {
    const archive = await engine.bytes(
      { method: 'GET', ...where, what: 'read the agent', maxBytes: MAX_ARCHIVE },
      NEVER,
    );
    return firstFile(archive)?.equals(bytes) ?? false;
  } catch (error) {
    if (refusedWith(error, 404)) return false;
    throw error;
  }
}

/** Volumes and images of other builds that nothing uses: whoever still needs one seeds it again. */
async function removeOldBuilds({ engine, logger }: AgentVolumeDeps, { name }: Build): Promise<void> {
  const query = { filters: { label: [LABEL.agent] } };
  const what = 'list old agents';
  try {
    const volumes = await engine.json({ method: 'GET', path: '/volumes', query, what }, NEVER);
    const images = await engine.json({ method: 'GET', path: '/images/json', query, what }, NEVER);
    const paths = [
      ...names((volumes as { Volumes?: unknown } | undefined)?.Volumes).map((old) => `/volumes/${old}`),
      ...tags(images).map((old) => `/images/${old}`),
    ];
    for (const path of paths.filter((each) => !each.includes(name))) await remove(engine, path);
  } catch (error) {
    logger.debug({ err: error }, 'old builds of the agent stay on the engine');
  }
}

function names(volumes: unknown): string[] {
  return Array.isArray(volumes) ? volumes.map(({ Name }) => `${Name}`) : [];
}

/** By tag, so that one somebody has given another name keeps it; the nameless by id. */
function tags(images: unknown): string[] {
  if (!Array.isArray(images)) return [];
  return images.flatMap(({ Id, RepoTags }) => {
    const tagged = ((RepoTags ?? []) as string[]).filter((tag) => !tag.includes('<none>'));
    return tagged.length > 0 ? tagged : [`${Id}`];
  });
}
