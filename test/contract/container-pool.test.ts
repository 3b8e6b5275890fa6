// The VM of a pool in a container: the uids in there are the engine's own, so what keeps tenants apart is that nobody has
// any rights.
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { SandboxIo, UserIo } from '../../src/agent/io.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { type ContainerHome, containerHome, containerSpec } from '../support/hosts/container.ts';
import { IMAGES } from '../support/hosts/engine.ts';
import { type SharedEngine, sharedEngine } from '../support/hosts/shared-engine.ts';
import { freshId, runInside, soon } from '../support/hosts/userspace.ts';
import { describeWith } from '../support/requires.ts';
import { type Tenants, tenantsAreApart } from './pool-tenants.suite.ts';

/** No other test's: processes are counted by uid. */
const ANN = { uid: 20_101, home: '/workspaces/sb-ann' };
const BOB = { uid: 20_102, home: '/workspaces/sb-bob' };

describeWith(['root', 'docker'], 'the VM of a pool in a container', () => {
  const id = freshId();
  let engine: SharedEngine;
  let place: ContainerHome;
  let provider: Provider;
  let io: SandboxIo;
  let tenants: Tenants;

  beforeAll(async () => {
    engine = await sharedEngine();
    place = containerHome(engine.socket);
    provider = place.provider();
    await provider.create(containerSpec(id, { image: IMAGES.debian, memory_mb: 256, role: 'pool' }), soon());
    io = await provider.attach({ id, epoch: 1 }, soon());
    const [ann, bob] = [ANN, BOB].map((user) => Object.assign(io.as?.(user) as UserIo, { user }));
    tenants = { ann: ann as Tenants['ann'], bob: bob as Tenants['bob'], hostUid: 0 };
    await Promise.all([tenants.ann.enter(), tenants.bob.enter()]);
  }, 120_000);
  afterAll(async () => {
    io?.close();
    await provider?.destroy({ id, epoch: 1 }, soon());
    await provider?.close();
    expect(await engine.api.containers(`svc.instance=${place.instance.id}`)).toEqual([]);
  });

  it('has an agent with three rights', async () => {
    const [{ Id = '' } = {}] = await engine.api.containers(`svc.id=${id}`);
    const { body } = await engine.api.call<{ HostConfig: object }>('GET', `/containers/${Id}/json`);
    expect(body.HostConfig).toMatchObject({ Privileged: false, ReadonlyRootfs: true, Binds: [] });
    const { stdout } = await runInside(tenants.bob, ['/bin/cat', '/proc/1/status', '/proc/self/status']);
    const [agent = '', tenant = ''] = stdout.split(/^Name:/m).slice(1);
    for (const set of ['CapPrm', 'CapEff', 'CapBnd']) expect(agent).toContain(`${set}:\t00000000000000c1`);
    for (const set of ['CapPrm', 'CapEff', 'CapInh', 'CapAmb'])
      expect(tenant).toContain(`${set}:\t${'0'.repeat(16)}`);
    for (const status of [agent, tenant]) expect(status).toMatch(/^NoNewPrivs:\t1\n(.*\n)*?Seccomp:\t2$/m);
  });

  tenantsAreApart(() => tenants, {
    // The engine mounts /proc without hidepid, and nobody in there could mount another.
    seen: ['see', 'proc cmdline', 'proc status', 'proc stat', 'proc task'],
  });
});
