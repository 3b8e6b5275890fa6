// The container through which the agent's volume is filled. It never runs. Its fixed name is a lock between servers: the
// server that creates it seeds and removes it. A label names that server, so a lost reply does not lose the lock.
import type { Clock } from '../../domain/ports.ts';
import { AGENT_FOLDER } from './container-body.ts';
import type { Engine } from './engine.ts';
import type { EngineRequest } from './engine-answers.ts';
import { refusedWith } from './engine-faults.ts';
import { LABEL } from './names.ts';

/** A seeding that takes longer was abandoned by a server that died. */
const STALE_MS = 30_000;
const TIMEOUT_MS = 45_000;
const PAUSE_MS = 100;
const WHAT = 'seed the agent';

interface SeedDeps {
  engine: Engine;
  clock: Clock;
  instance: { id: string };
}

/**
 * Resolves with the name of the only container that may fill the volume `build` now. Waits for another server's container,
 * removes an abandoned one, and takes over our own. Throws the engine's error after 45 s.
 */
export async function takeSeed(deps: SeedDeps, build: string): Promise<string> {
  const { engine, clock, instance } = deps;
  const name = `${build}-seed`;
  const deadline = clock.monotonic() + TIMEOUT_MS;
  for (;;) {
    try {
      await make(deps, build, name);
      return name;
    } catch (error) {
      const maker = await makerOf(engine, name);
      if (maker?.id === instance.id) return name;
      if (!refusedWith(error, 409) || clock.monotonic() > deadline) throw error;
      if (maker && clock.now() - maker.at > STALE_MS)
        await remove(engine, `/containers/${name}`, { force: 1 });
    }
    await clock.sleep(PAUSE_MS);
  }
}

async function make({ engine, instance }: SeedDeps, build: string, name: string): Promise<void> {
  const body = {
    Image: `${build}:latest`,
    Cmd: ['/svc-agent', 'version'],
    Labels: { [LABEL.agent]: build, [LABEL.seeder]: instance.id },
    HostConfig: {
      NetworkMode: 'none',
      Mounts: [{ Type: 'volume', Source: build, Target: AGENT_FOLDER, VolumeOptions: { NoCopy: true } }],
    },
  };
  const call = { method: 'POST', path: '/containers/create', query: { name }, body } as const;
  await engine.json({ ...call, what: WHAT });
}

/** The server that created the container, and when (ms since 1970); undefined if there is none. */
async function makerOf(engine: Engine, name: string): Promise<{ id: unknown; at: number } | undefined> {
  try {
    const order = { method: 'GET', path: `/containers/${name}/json`, what: WHAT } as const;
    const found = (await engine.json(order)) as SeedContainer | undefined;
    return { id: found?.Config?.Labels?.[LABEL.seeder], at: Date.parse(found?.Created ?? '') };
  } catch (error) {
    if (refusedWith(error, 404)) return undefined;
    throw error;
  }
}

interface SeedContainer {
  Created?: string;
  Config?: { Labels?: Record<string, unknown> | null };
}

/** Ignores objects that are in use or already removed. */
export async function remove(
  engine: Engine,
  path: string,
  query: NonNullable<EngineRequest['query']> = {},
): Promise<void> {
  try {
    await engine.bytes({ method: 'DELETE', path, query, what: 'remove what seeding left' });
  } catch (error) {
    if (!refusedWith(error, 404, 409)) throw error;
  }
}
