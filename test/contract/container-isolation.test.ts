// What separates containers, seen from inside real ones: networks, users, roots, limits.
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { SandboxIo } from '../../src/agent/io.ts';
import type { RuntimeSpec } from '../../src/providers/provider.ts';
import type { ContainerConfig } from '../../src/schema/config-container.ts';
import { type ContainerHome, containerHome, containerSpec } from '../support/hosts/container.ts';
import { type SharedEngine, sharedEngine } from '../support/hosts/shared-engine.ts';
import { freshId, runInside, soon } from '../support/hosts/userspace.ts';
import { describeWith } from '../support/requires.ts';

interface Guest {
  io: SandboxIo;
  warnings: string[];
  sh(command: string): ReturnType<typeof runInside>;
}

describeWith(['root', 'docker'], 'a sandbox in a container', () => {
  let engine: SharedEngine;
  let place: ContainerHome;

  beforeAll(async () => {
    engine = await sharedEngine();
    place = containerHome(engine.socket);
  }, 120_000);
  afterAll(async () => {
    expect(await engine.api.containers(`svc.instance=${place.instance.id}`)).toEqual([]);
  });

  /** `use` with one sandbox, which is gone afterwards. */
  async function inSandbox(
    use: (guest: Guest) => Promise<void>,
    config: Partial<ContainerConfig> = {},
    spec: Partial<RuntimeSpec> = {},
  ): Promise<void> {
    const provider = place.provider(config);
    const id = freshId();
    const { warnings } = await provider.create(containerSpec(id, spec), soon());
    try {
      const io = await provider.attach({ id, epoch: 1 }, soon());
      await use({ io, warnings, sh: (command) => runInside(io, ['sh', '-c', command]) });
    } finally {
      await provider.destroy({ id, epoch: 1 }, soon());
      await provider.close();
    }
  }

  it('does not reach another sandbox on the bridge, and answers through its agent', async () => {
    await inSandbox(async (server) => {
      const address = (
        await server.sh("ip -4 addr show eth0 | sed -n 's/.*inet \\([0-9.]*\\).*/\\1/p'")
      ).stdout.trim();
      expect(address).toMatch(/^\d+\.\d+\.\d+\.\d+$/);
      await server.sh('(echo hello | nc -l -p 8000) >/dev/null 2>&1 &');
      await inSandbox(async (other) => {
        const tried = await other.sh(`nc -w 2 ${address} 8000 </dev/null; ping -c 1 -W 2 ${address}`);
        expect(tried.exit_code).not.toBe(0);
        expect(tried.stdout).not.toContain('hello');
      });
      const tunnel = await server.io.connect(8000, soon());
      const [chunk] = await tunnel.take(1).toArray();
      expect(`${chunk}`).toBe('hello\n');
      tunnel.destroy();
    });
  });

  it('ends only the command that exceeds the memory under runc', async () => {
    await inSandbox(
      async ({ sh }) => {
        expect((await sh('exec tail /dev/zero')).exit_code).toBe(137);
        expect((await sh('echo alive')).stdout).toBe('alive\n');
      },
      { runtime: 'runc' },
      { memory_mb: 64 },
    );
  });

  it('has only a loopback network with network: none', async () => {
    await inSandbox(
      async ({ sh }) => expect((await sh('ls /sys/class/net')).stdout).toBe('lo\n'),
      {},
      { network: 'none' },
    );
  });

  it('of an ordinary user writes to its workspace and nowhere else', async () => {
    await inSandbox(
      async ({ sh, warnings, io }) => {
        expect((await sh('id -u; echo $HOME; touch here && ls')).stdout).toBe('1000\n/workspace\nhere\n');
        expect((await sh('touch /bin/x')).exit_code).not.toBe(0);
        expect((await sh('grep CapEff /proc/self/status')).stdout).toMatch(/\t0+\n/);
        expect(warnings).toEqual([expect.stringContaining('/workspace is 8 MB of memory')]);
        await io.files.write('/workspace/mine', Buffer.from('x'), {});
        expect((await sh('head -c 9000000 /dev/zero > big')).exit_code).not.toBe(0);
      },
      { user: '1000', workspace_mb: 8 },
    );
  });

  it('with a read-only root writes to memory alone', async () => {
    await inSandbox(
      async ({ sh }) => {
        expect((await sh('touch /x')).stderr).toMatch(/Read-only/);
        expect((await sh('cd /tmp && cp /bin/busybox true && ./true')).exit_code).toBe(0);
        expect((await sh('touch /workspace/x /tmp/x')).exit_code).toBe(0);
      },
      { read_only_rootfs: true, workspace_mb: 8 },
    );
  });

  it('is stopped in every attempt to get out', async () => {
    await inSandbox(async ({ sh }) => {
      for (const attempt of [
        'mount -t tmpfs none /mnt || mount -o remount,rw /.svc',
        'echo x > /proc/sys/kernel/core_pattern',
        'echo x > /.svc/svc-agent',
        'mknod /tmp/disk b 8 0 && cat /tmp/disk',
        'cat /proc/1/environ',
        'cat /proc/1/mem',
        'ls -l /proc/1/fd/0 | grep pipe',
        'unshare -m true',
        'chroot /proc/1/root true',
        'ls /var/run/docker.sock',
      ])
        expect({ attempt, code: (await sh(attempt)).exit_code }).not.toEqual({ attempt, code: 0 });
      expect((await sh('grep NoNewPrivs /proc/self/status')).stdout).toMatch(/\t1\n/);
    });
  });

  it('stays within its limits, and its agent survives them', async () => {
    await inSandbox(
      async ({ sh, io }) => {
        const hog = await sh('head -c 200000000 /dev/zero | tail -c 199999999 | wc -c');
        expect(hog.stdout).not.toBe('199999999\n');
        await io.ping();
        const bomb = await sh('i=0; while [ $i -lt 200 ]; do sleep 5 & i=$((i+1)); done');
        expect(`${bomb.stderr}${bomb.exit_code}`).toMatch(/fork|Resource|[1-9]/);
        await io.ping();
      },
      { pids_limit: 64 },
      { memory_mb: 64 },
    );
  });

  it('is refused in the same words for every registry failure, with the name of the image', async () => {
    const provider = place.provider();
    const never = place.provider({ pull: 'never' });
    const spec = containerSpec(freshId(), { image: 'registry.invalid/no/such:1' });
    await expect(never.create(spec, soon())).rejects.toMatchObject({
      ...{ code: 'provider_error', message: expect.stringContaining('registry.invalid/no/such:1') },
    });
    // A name that is not there, and a port that is closed.
    const open = place.provider({ allowed_images: ['*', '127.0.0.1:1/**'] });
    for (const image of ['registry.invalid/no/such:1', '127.0.0.1:1/no/such:1'])
      await expect(open.create({ ...spec, image }, soon())).rejects.toMatchObject({
        ...{ code: 'provider_error' },
        message: `Image ${image} is not on the container engine and cannot be pulled.`,
      });
    await expect(provider.create({ ...spec, image: '127.0.0.1:1/no/such:1' }, soon())).rejects.toMatchObject({
      ...{ code: 'bad_request', message: expect.stringContaining('an address or an internal name') },
    });
    await Promise.all([provider, never, open].map((each) => each.close()));
  });
});

describeWith(['root', 'docker', 'runsc'], 'a sandbox under gVisor', () => {
  it('ends with memory as the reason when it runs out of memory', async () => {
    const { socket } = await sharedEngine();
    const provider = containerHome(socket).provider({ runtime: 'runsc' });
    const ref = { id: freshId(), epoch: 1 };
    await provider.create(containerSpec(ref.id, { memory_mb: 128 }), soon());
    const io = await provider.attach(ref, soon());
    const reason = { code: 'unavailable', message: 'The sandbox ran out of memory and stopped.' };
    try {
      // The kernel chooses what it kills: the program alone, or the process of gVisor that holds the entire sandbox.
      const outcome = await runInside(io, ['tail', '/dev/zero']).catch((error: Error) => error);
      if (outcome instanceof Error) {
        expect(outcome).toMatchObject(reason);
        await expect(provider.attach(ref, soon())).rejects.toMatchObject(reason);
      } else expect(outcome.exit_code).toBe(137);
    } finally {
      await provider.destroy(ref, soon());
      await provider.close();
    }
  }, 120_000);
});
