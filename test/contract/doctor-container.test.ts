// The doctor's trial through a real engine, with the container settings that `svc config init --production` writes; an
// engine that is looked at from outside says that nothing is left.
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { doctorHere } from '../../src/app/doctor.ts';
import { productionFiles } from '../../src/app/first-config.ts';
import { runChecks } from '../../src/cli/check-progress.ts';
import { type LoadedConfig, loadConfig } from '../../src/config/load.ts';
import type { DoctorDeps } from '../../src/ops/doctor/check.ts';
import { planDoctor } from '../../src/ops/doctor/doctor.ts';
import { IMAGES } from '../support/hosts/engine.ts';
import { type SharedEngine, sharedEngine } from '../support/hosts/shared-engine.ts';
import { describeWith } from '../support/requires.ts';
import { temporaryFolder } from '../support/temporary.ts';

describeWith(['root', 'docker', 'runsc'], 'a doctor and an engine', () => {
  let engine: SharedEngine;
  beforeAll(async () => {
    engine = await sharedEngine();
  }, 120_000);

  /** The production file, moved to this engine and a folder of this test. */
  function production(socket: string): LoadedConfig {
    const folder = temporaryFolder();
    const file = join(folder, 'svc.yaml');
    for (const { path, text } of productionFiles(file, 'https://app.example.com'))
      writeFileSync(path, text, { mode: 0o600 });
    const env = {
      SVC_DATABASE_PATH: join(folder, 'svc.db'),
      SVC_DEFAULTS_IMAGE: IMAGES.busybox,
      SVC_PROVIDERS_CONTAINER_ALLOWED_IMAGES: IMAGES.busybox,
      SVC_PROVIDERS_CONTAINER_SOCKET: socket,
    };
    return loadConfig({ file, env, cwd: folder, home: folder, uid: 0, isTerminal: false });
  }

  async function examine(loaded: LoadedConfig, only: string[]) {
    const instances: string[] = [];
    const here = doctorHere({ file: undefined, production: true, signal: new AbortController().signal });
    const deps: DoctorDeps = {
      ...here,
      load: () => loaded,
      openProviders: (config, instance) => {
        instances.push(instance.id);
        return here.openProviders(config, instance);
      },
    };
    const plan = planDoctor(deps, { only, skip: ['container.advisories'], probe: true });
    await runChecks(plan.groups, false);
    const { groups } = await plan.finish();
    const checks = groups.flatMap(({ checks }) => checks);
    return { instances, checks: checks.map(({ id, verdict, message }) => [id, verdict, message]) };
  }

  it('a sandbox with the production settings runs, and leaves nothing', async () => {
    const { instances, checks } = await examine(production(engine.socket), [
      'providers',
      'container',
      'probe_container',
    ]);
    expect(checks.filter(([, verdict]) => verdict !== 'pass')).toEqual([]);
    expect(checks.map(([id]) => id)).toContain('probe_container.connect');
    expect(checks.find(([id]) => id === 'probe_container.link')?.[2]).toMatch(
      /connect to a socket of the server/,
    );
    expect(instances).toHaveLength(1);
    expect(await engine.api.containers(`svc.instance=${instances[0]}`)).toEqual([]);
    const folder = instances[0]?.replaceAll('-', '').slice(0, 12) ?? '';
    expect(readdirSync('/run/svc')).not.toContain(folder);
  });

  it.each([
    ['runsc', 'warn', /--host-uds=open/],
    ['runsc-link', 'pass', /connect to a socket of the server/],
  ])(
    'says under %s whether the agent connects by itself',
    async (runtime, verdict, words) => {
      const loaded = production(engine.socket);
      loaded.config.providers.container.runtime = runtime;
      const { checks } = await examine(loaded, ['probe_container']);
      const found = checks.find(([id]) => id === 'probe_container.link');
      expect(found?.[1]).toBe(verdict);
      expect(found?.[2]).toMatch(words);
    },
    60_000,
  );

  it('a missing engine fails one check', async () => {
    const { checks } = await examine(production(`${engine.socket}-gone`), ['container']);
    expect(checks.map(([id, verdict]) => [id, verdict])).toEqual([
      ['container.engine', 'fail'],
      ['container.runtime', 'skip'],
      ['container.network', 'skip'],
      ['container.agent', 'skip'],
      ['container.limits', 'skip'],
      ['container.image', 'skip'],
    ]);
  });
});
