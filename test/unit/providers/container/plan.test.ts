// What an engine says that it can do, and what becomes of a sandbox on one whose kernel filters no system calls.
import { expect, it } from 'vitest';
import { realClock } from '../../../../src/host/clock.ts';
import { openEngine } from '../../../../src/providers/container/engine.ts';
import { factsReader } from '../../../../src/providers/container/facts.ts';
import { planned } from '../../../../src/providers/container/plan.ts';
import type { ContainerState } from '../../../../src/providers/container/state.ts';
import { containerConfig, containerSpec } from '../../../support/container.ts';
import { scriptedEngine, status } from '../../../support/scripted-engine.ts';

const soon = () => AbortSignal.timeout(10_000);

/** The plan of a sandbox on an engine that answers `info`. */
async function planOn(info: object, seccomp_profile = 'svc') {
  const scripted = await scriptedEngine();
  scripted.on('GET /info', status(200, { NCPU: 4, ...info }));
  const config = { ...containerConfig(), socket: scripted.socket, seccomp_profile };
  const engine = openEngine({ config, clock: realClock() });
  const state = {
    config,
    instance: { id: 'an-instance', key: 'c5'.repeat(32) },
    facts: factsReader(engine, realClock()),
    images: { ready: async () => ({ id: 'sha256:0123', user: '', volumes: [] }) },
    agent: { ready: async () => 'agent' },
    network: { ready: async () => 'svc' },
  } as unknown as ContainerState;
  const { body, warnings } = await planned(state, containerSpec('sb-plan'), soon());
  engine.close();
  return { options: (body as { HostConfig: { SecurityOpt: string[] } }).HostConfig.SecurityOpt, warnings };
}

it.each([
  [{ SecurityOptions: ['name=apparmor', 'name=seccomp,profile=default'] }],
  [{ SecurityOptions: ['name=seccomp'] }],
  [{}],
])('filters system calls where the engine says %o', async (info) => {
  const { options, warnings } = await planOn(info);
  expect(options).toEqual(['no-new-privileges', expect.stringMatching(/^seccomp=\{"defaultAction"/)]);
  expect(warnings).toEqual([]);
});

it('does without where it cannot, and says so', async () => {
  const { options, warnings } = await planOn({ SecurityOptions: ['name=apparmor'] });
  expect(options).toEqual(['no-new-privileges']);
  expect(warnings).toEqual([expect.stringContaining('System calls are not filtered')]);
});

it('leaves the profile to the engine where that is configured', async () => {
  const { options } = await planOn({ SecurityOptions: ['name=seccomp'] }, 'default');
  expect(options).toEqual(['no-new-privileges']);
});
