// The VM of a pool by the userspace provider, under both runners.
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { SandboxIo, UserIo } from '../../src/agent/io.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { NOTHING, remains } from '../support/checks/auditor.ts';
import { freshId, runtimeSpec, soon, type UserspaceHome, userspaceHome } from '../support/hosts/userspace.ts';
import { describeWith } from '../support/requires.ts';
import { type Tenants, tenantsAreApart } from './pool-tenants.suite.ts';

const ANN = { uid: 20_001, home: '/workspaces/sb-ann' };
const BOB = { uid: 20_002, home: '/workspaces/sb-bob' };

for (const runner of ['unshare', 'bwrap'] as const) {
  describeWith(['root', runner, 'python3'], `the VM of a pool of ${runner}`, () => {
    const id = freshId();
    let place: UserspaceHome;
    let provider: Provider;
    let io: SandboxIo;
    let tenants: Tenants;

    beforeAll(async () => {
      place = userspaceHome();
      provider = place.provider({ runner });
      await provider.create(runtimeSpec(id, { memory_mb: 256, role: 'pool' }), soon());
      io = await provider.attach({ id, epoch: 1 }, soon());
      const [ann, bob] = [ANN, BOB].map((user) => Object.assign(io.as?.(user) as UserIo, { user }));
      tenants = { ann: ann as Tenants['ann'], bob: bob as Tenants['bob'], hostUid: hostUid(place, id) };
      await Promise.all([tenants.ann.enter(), tenants.bob.enter()]);
    });
    afterAll(async () => {
      io?.close();
      await provider.destroy({ id, epoch: 1 }, soon());
      expect(remains({ home: place.home }, [id])).toEqual(NOTHING);
      place.remove();
    });

    it('has an agent with three rights over its own uids and none over the host', async () => {
      const { pid } = JSON.parse(readFileSync(`/run/svc/${runFolder(place, id)}/runtime.json`, 'utf8'));
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      const uid = Number(/^Uid:\t(\d+)/m.exec(status)?.[1]);
      expect(uid).toBeGreaterThanOrEqual(1_879_048_192 + 65_536);
      expect(readFileSync(`/proc/${pid}/uid_map`, 'utf8').trim().split(/\s+/)).toEqual([
        '0',
        `${uid}`,
        '65536',
      ]);
      const chownSetuidSetgid = '00000000000000c1';
      for (const set of ['CapPrm', 'CapEff', 'CapBnd'])
        expect(status).toContain(`${set}:\t${chownSetuidSetgid}`);
      for (const set of ['CapInh', 'CapAmb']) expect(status).toContain(`${set}:\t${'0'.repeat(16)}`);
      expect(status).toMatch(/^NoNewPrivs:\t1$/m);
      expect(status).toMatch(/^Seccomp:\t2$/m);
    });

    tenantsAreApart(() => tenants, { seen: [] });
  });
}

describeWith(['root', 'unshare'], 'the VM of a pool with workspaces on disk', () => {
  it('keeps them in a folder that it removes at its end', async () => {
    const place = userspaceHome();
    const id = freshId();
    const provider = place.provider({ runner: 'unshare', workspace: 'disk' });
    await provider.create(runtimeSpec(id, { role: 'pool' }), soon());
    const io = await provider.attach({ id, epoch: 1 }, soon());
    const ann = io.as?.(ANN) as UserIo;
    await ann.enter();
    await ann.files.write(`${ANN.home}/a`, Buffer.from('x'), {});
    const folder = `${place.home}/workspaces/${id}.1`;
    expect(readdirSync(`${folder}/sb-ann`)).toEqual(['a']);
    io.close();
    await provider.destroy({ id, epoch: 1 }, soon());
    expect(remains({ home: place.home }, [id])).toEqual(NOTHING);
    place.remove();
  });
});

function runFolder(place: UserspaceHome, id: string): string {
  return `${place.instance.id.replaceAll('-', '').slice(0, 12)}/${id}.1`;
}

/** The host's uid of uid 0 in there. */
function hostUid(place: UserspaceHome, id: string): number {
  const { uid_slot } = JSON.parse(readFileSync(`/run/svc/${runFolder(place, id)}/runtime.json`, 'utf8'));
  return 1_879_048_192 + uid_slot;
}
