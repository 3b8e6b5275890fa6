// What an engine says that it can do, and what becomes of a sandbox on one whose kernel filters no system calls.
import { expect, it } from 'vitest';
import { realClock } from '../../../../src/host/clock.ts';
import { openEngine } from '../../../../src/providers/container/engine.ts';
import { factsReader } from '../../../../src/providers/container/facts.ts';
import { planContainer } from '../../../../src/providers/container/plan.ts';
import type { ContainerState } from '../../../../src/providers/container/state.ts';
import type { RuntimeSpec } from '../../../../src/providers/provider.ts';
import { containerConfig, containerHome, containerSpec } from '../../../support/hosts/container.ts';
import { scriptedEngine, status } from '../../../support/scripted/engine.ts';

const soon = () => AbortSignal.timeout(10_000);

/** The plan of a sandbox on an engine that answers `info`. */
async function planOn(
  info: object,
  seccomp_profile = 'svc',
  spec: Partial<RuntimeSpec> = {},
  image: { user?: string; volumes?: string[] } = {},
) {
  const scripted = await scriptedEngine();
  scripted.on('GET /info', status(200, { NCPU: 4, ...info }));
  const config = { ...containerConfig(), socket: scripted.socket, seccomp_profile };
  const engine = openEngine({ config, clock: realClock() });
  const state = {
    config,
    instance: { id: 'an-instance', key: 'c5'.repeat(32) },
    facts: factsReader(engine, realClock()),
    images: { ready: async () => ({ id: 'sha256:0123', user: '', volumes: [], ...image }) },
    agent: async () => 'agent',
    network: { ready: async () => 'svc' },
  } as unknown as ContainerState;
  const { body, warnings } = await planContainer(state, containerSpec('sb-plan', spec), soon());
  engine.close();
  return {
    options: (body(undefined) as { HostConfig: { SecurityOpt: string[] } }).HostConfig.SecurityOpt,
    warnings,
  };
}

it.each([
  [{ SecurityOptions: ['name=apparmor', 'name=seccomp,profile=default'] }],
  [{ SecurityOptions: ['name=seccomp'] }],
  [{}],
])('filters system calls where the engine reports %o', async (info) => {
  const { options, warnings } = await planOn(info);
  expect(options).toEqual(['no-new-privileges', expect.stringMatching(/^seccomp=\{"defaultAction"/)]);
  expect(warnings).toEqual([]);
});

it('warns where the engine cannot filter system calls', async () => {
  const { options, warnings } = await planOn({ SecurityOptions: ['name=apparmor'] });
  expect(options).toEqual(['no-new-privileges']);
  expect(warnings).toEqual([expect.stringContaining('System calls are not filtered')]);
});

it('uses the profile of the engine where configured', async () => {
  const { options } = await planOn({ SecurityOptions: ['name=seccomp'] }, 'default');
  expect(options).toEqual(['no-new-privileges']);
});

it('has no pool under gVisor, whether configured or the default of the engine', async () => {
  const pool = { role: 'pool' } as const;
  await expect(planOn({ DefaultRuntime: 'runsc' }, 'svc', pool)).rejects.toMatchObject({
    ...{ code: 'provider_error', message: expect.stringContaining('runsc cannot run a pool') },
    remedy: expect.stringContaining('providers.container.runtime'),
  });
  await expect(planOn({ DefaultRuntime: 'runsc' })).resolves.toBeDefined();
  await expect(planOn({ DefaultRuntime: 'runc' }, 'svc', pool)).resolves.toBeDefined();
  const home = containerHome('/nowhere');
  expect(home.provider({ runtime: 'runsc' }).hostsPools).toBe(false);
  expect(home.provider({ runtime: 'runc' }).hostsPools).toBe(true);
});

it('warns about a workspace in memory, and accepts it for a strict spawn', async () => {
  const user = { user: '1000' };
  const { warnings } = await planOn({}, 'svc', {}, user);
  expect(warnings).toEqual([expect.stringContaining('/workspace is 512 MB of memory')]);
  await expect(planOn({}, 'svc', { strict: true }, user)).resolves.toMatchObject({ warnings: [] });
});

it('refuses a strict spawn of an image whose volumes would be empty', async () => {
  await expect(planOn({}, 'svc', { strict: true }, { volumes: ['/data'] })).rejects.toMatchObject({
    code: 'precondition_failed',
    details: { unmet: [expect.stringContaining('/data')] },
  });
});
