// The volume that brings svc-agent into containers, one per engine and build. It is filled through a container that is
// never started, because no registry has the agent; that container's fixed name is the lock between servers.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { findAgent } from '../../agent/binary.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import { AGENT_FOLDER } from './body.ts';
import type { Engine, EngineOrder } from './engine.ts';
import { refusedWith } from './engine-faults.ts';
import { LABEL } from './names.ts';
import { firstFile, tarOf } from './tar.ts';

const PATH = `${AGENT_FOLDER}/svc-agent`;
const MAX_ARCHIVE = 32 * 1024 * 1024;
/** A seeding that takes longer than this was left by a server that died. */
const STALE_MS = 30_000;
const PATIENCE_MS = 45_000;
const PAUSE_MS = 100;
const NEVER = new AbortController().signal;

export interface AgentVolumeDeps {
  engine: Engine;
  clock: Clock;
  logger: Logger;
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
  const container = await lock(deps, build);
  try {
    await fill(deps.engine, container, build);
  } finally {
    await removeSeed(deps.engine, container);
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

/** Name of the one container that may fill the volume now. Waits for another server's; one that died is cleared away. */
async function lock({ engine, clock }: AgentVolumeDeps, { name }: Build): Promise<string> {
  const container = `${name}-seed`;
  const body = {
    Image: `${name}:latest`,
    Cmd: ['/svc-agent', 'version'],
    Labels: { [LABEL.agent]: name },
    HostConfig: {
      NetworkMode: 'none',
      Mounts: [{ Type: 'volume', Source: name, Target: AGENT_FOLDER, VolumeOptions: { NoCopy: true } }],
    },
  };
  const what = 'seed the agent';
  const deadline = clock.monotonic() + PATIENCE_MS;
  for (;;) {
    try {
      const query = { name: container };
      await engine.json({ method: 'POST', path: '/containers/create', query, body, what }, NEVER);
      return container;
    } catch (error) {
      if (!refusedWith(error, 409) || clock.monotonic() > deadline) throw error;
    }
    if (await isStale(engine, container, clock)) await removeSeed(engine, container);
    await clock.sleep(PAUSE_MS);
  }
}

async function isStale(engine: Engine, container: string, clock: Clock): Promise<boolean> {
  try {
    const path = `/containers/${container}/json`;
    const found = (await engine.json({ method: 'GET', path, what: 'seed the agent' }, NEVER)) as {
      Created?: string;
    };
    return clock.now() - Date.parse(found.Created ?? '') > STALE_MS;
  } catch (error) {
    if (refusedWith(error, 404)) return false;
    throw error;
  }
}

/** A file that is already there and whole stays as it is: sandboxes run from it. */
async function fill(engine: Engine, container: string, build: Build): Promise<void> {
  if (await holds(engine, container, build)) return;
  const archive = tarOf({ path: 'svc-agent', bytes: build.bytes, mode: 0o755 });
  const where = { path: `/containers/${container}/archive`, query: { path: AGENT_FOLDER } };
  await engine.bytes({ method: 'PUT', ...where, body: archive, what: 'store the agent' }, NEVER);
  if (await holds(engine, container, build)) return;
  throw new ServiceError('provider_error', 'The container engine does not keep the guest agent.', {
    remedy: 'Check the space for volumes on the engine.',
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

function removeSeed(engine: Engine, container: string): Promise<void> {
  return remove(engine, `/containers/${container}`, { force: 1 });
}

/** What is used or gone stays so. */
async function remove(engine: Engine, path: string, query: EngineOrder['query'] = {}): Promise<void> {
  try {
    await engine.bytes({ method: 'DELETE', path, query, what: 'remove what seeding left' }, NEVER);
  } catch (error) {
    if (!refusedWith(error, 404, 409)) throw error;
  }
}
