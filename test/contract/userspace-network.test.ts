// The user-mode network of sandboxes: it is there when the sandbox is, is counted as part of it, and ends with it.
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Provider } from '../../src/providers/provider.ts';
import type { RuntimeRecord } from '../../src/providers/userspace/record.ts';
import { NOTHING, remains } from '../support/checks/auditor.ts';
import { networkPrograms } from '../support/checks/leftovers.ts';
import {
  freshId,
  runInside,
  runtimeSpec,
  soon,
  type UserspaceHome,
  userspaceHome,
} from '../support/hosts/userspace.ts';
import { describeWith } from '../support/requires.ts';
import { until } from '../support/until.ts';

const SERVERS = ['9.9.9.9', '10.20.30.40'];

for (const runner of ['unshare', 'bwrap'] as const) {
  describeWith(['root', runner, 'slirp4netns', 'python3'], `a user-mode network of ${runner}`, () => {
    let place: UserspaceHome;
    let provider: Provider;

    beforeAll(() => {
      place = userspaceHome();
      provider = place.provider({ runner, network: 'user', name_servers: SERVERS });
    });
    afterAll(async () => {
      await provider.close();
      place.remove();
    });

    it('has a link, name servers, and no route to what is not public', async () => {
      const id = freshId();
      await provider.create(runtimeSpec(id), soon());
      const io = await provider.attach({ id, epoch: 1 }, soon());
      const inside = async (line: string) => (await runInside(io, ['/bin/sh', '-c', line])).stdout;
      expect(await inside('cat /etc/resolv.conf')).toBe('nameserver 9.9.9.9\nnameserver 10.20.30.40\n');
      const via = (address: string) => inside(`ip route get ${address} 2>&1 | head -1`);
      for (const address of ['93.184.216.34', ...SERVERS]) expect(await via(address)).toContain('dev tap0');
      for (const address of ['10.20.30.41', '192.168.1.1', '169.254.169.254', '100.64.0.1', '240.0.0.1'])
        expect(await via(address)).toMatch(/unreachable|No route/);
      expect(await inside('ip route add 10.0.0.0/8 via 198.18.0.2 2>&1; ip -6 route')).toMatch(
        /not permitted\n(?:.*dev (?:lo|tap0).*\n)*$/,
      );
      io.close();
      await provider.destroy({ id, epoch: 1 }, soon());
      expect(remains({ home: place.home }, [id])).toEqual(NOTHING);
      expect(networkPrograms()).toEqual([]);
    });

    it('counts as part of the sandbox, without rights of the host', async () => {
      const id = freshId();
      await provider.create(runtimeSpec(id), soon());
      const short = place.instance.id.replaceAll('-', '').slice(0, 12);
      const file = join('/run/svc', short, `${id}.1`, 'runtime.json');
      const { pid, network_pid = 0 } = JSON.parse(readFileSync(file, 'utf8')) as RuntimeRecord;
      expect(networkPrograms()).toEqual([network_pid]);
      const groups = (of: number) => readFileSync(`/proc/${of}/cgroup`, 'utf8');
      expect(groups(network_pid)).toBe(groups(pid));
      const status = readFileSync(`/proc/${network_pid}/status`, 'utf8');
      const uid = /^Uid:\t(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
      expect(status).toContain(`Uid:\t${uid}\t${uid}\t${uid}\t${uid}`);
      // CAP_NET_BIND_SERVICE in the sandbox's user namespace alone.
      expect(status).toMatch(/^CapEff:\t0000000000000400\n(?:.*\n)*NoNewPrivs:\t1\nSeccomp:\t2$/m);
      process.kill(pid, 'SIGKILL');
      await until('it has ended', () => networkPrograms().length === 0);
      await provider.destroy({ id, epoch: 1 }, soon());
    });

    it('is removed with a sandbox that is given up half-way', async () => {
      for (const ms of [1, 5, 10, 15, 20, 25, 30, 40, 60]) {
        const id = freshId();
        await provider.create(runtimeSpec(id), AbortSignal.timeout(ms)).catch(() => undefined);
        await provider.destroy({ id, epoch: 1 }, soon());
        expect(remains({ home: place.home }, [id])).toEqual(NOTHING);
      }
      expect(networkPrograms()).toEqual([]);
    });

    it('is not there with network: none, nor under a transparent gate', async () => {
      for (const change of [{ network: 'none' }, { gate: true }] as const) {
        const id = freshId();
        await provider.create(runtimeSpec(id, change), soon());
        expect(networkPrograms()).toEqual([]);
        await provider.destroy({ id, epoch: 1 }, soon());
      }
    });
  });
}

describeWith(['root', 'unshare'], 'a host without slirp4netns', () => {
  it('starts no sandbox with a user-mode network, and says what to install', async () => {
    const place = userspaceHome();
    const programs = join(place.home, 'bin');
    mkdirSync(programs);
    symlinkSync('/usr/bin/unshare', join(programs, 'unshare'));
    const provider = place.provider({ runner: 'unshare', network: 'user' }, undefined, programs);
    const report = await provider.probe(soon());
    expect(report).toMatchObject({ healthy: false });
    expect(report.message).toBe(
      'providers.userspace.network is user, and slirp4netns is not installed. Install the package slirp4netns, or set providers.userspace.network to none.',
    );
    await expect(provider.create(runtimeSpec(freshId()), soon())).rejects.toMatchObject({
      code: 'provider_error',
    });
    await provider.close();
    place.remove();
  });
});

for (const runner of ['unshare', 'bwrap'] as const)
  describeWith(['root', runner, 'python3'], `ports of a sandbox of ${runner}`, () => {
    it.each([
      { way: 'proxy', to: "'127.0.0.1', 7424", host: undefined },
      { way: 'gate', to: "'api.example.com', 2222", host: 'api.example.com' },
    ])('are open before there is a session [$way]', async ({ way, to, host }) => {
      const place = userspaceHome();
      const provider = place.provider({ runner });
      const id = freshId();
      const listens = { proxy_port: 7424, ...(way === 'gate' && { ports: [80, 2222] }) };
      const order = runtimeSpec(id, { listens, ...(way === 'gate' && { gate: true as const }) });
      expect(await provider.create(order, soon())).toMatchObject({ listens: true });
      const io = await provider.attach({ id, epoch: 1 }, soon());
      const code = `import socket; s = socket.create_connection((${to})); print(s.recv(9).decode())`;
      const program = runInside(io, ['/usr/bin/python3', '-c', code]);
      // Nobody has called for the ports.
      const { socket, origin } = (await io.gate?.accept()) ?? {};
      expect(origin?.target?.host).toBe(host);
      socket?.end('hello');
      expect((await program).stdout).toBe('hello\n');
      // The call finds them as they are.
      const again = { proxy: true, gate: way === 'gate', missing: [] };
      expect(await io.gate?.open(listens)).toEqual(again);
      io.close();
      await provider.destroy({ id, epoch: 1 }, soon());
      await provider.close();
      place.remove();
    });
  });
