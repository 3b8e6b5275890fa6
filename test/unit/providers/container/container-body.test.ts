// The bodies that create containers, held against fixtures/golden: a change to what separates a sandbox is seen here.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { packageRoot } from '../../../../src/host/package-root.ts';
import { type ContainerOptions, containerBody } from '../../../../src/providers/container/container-body.ts';
import { seccompProfile } from '../../../../src/providers/container/seccomp-profile.ts';
import { containerConfig, containerSpec } from '../../../support/hosts/container.ts';

const order = (change: Partial<ContainerOptions> = {}): ContainerOptions => ({
  instance: '01234567-89ab-4000-8000-000000000000',
  spec: containerSpec('sb-golden'),
  config: containerConfig(),
  runtime: 'runc',
  image: 'sha256:0123',
  volumes: [],
  user: '',
  agentVolume: 'svc-agent-0123456789abcdef',
  network: 'svc',
  seccomp: 'PROFILE',
  ...change,
});

const golden = (name: string): unknown =>
  JSON.parse(readFileSync(join(packageRoot(), 'fixtures/golden', `${name}.json`), 'utf8'));

interface Body {
  Env: string[];
  Entrypoint: string[];
  HostConfig: Record<string, unknown>;
}

it('equals the reference body for a sandbox', () => {
  expect(containerBody(order())).toEqual(golden('container-create'));
});

it('equals the reference body for a pool: three capabilities, no writable folder', () => {
  const spec = containerSpec('vm-golden', { role: 'pool', memory_mb: 2048 });
  expect(containerBody(order({ spec }))).toEqual(golden('container-pool'));
});

it('has the reference profile of system calls, as text', async () => {
  expect(JSON.parse((await seccompProfile('svc')) ?? '')).toEqual(golden('container-seccomp'));
  expect(await seccompProfile('default')).toBeUndefined();
  expect(await seccompProfile('unconfined')).toBe('unconfined');
  await expect(seccompProfile('/nowhere')).rejects.toMatchObject({ code: 'provider_error' });
});

it('mounts the folder of a link read-only, where there is one', () => {
  const { HostConfig, Entrypoint } = containerBody(order({ link: '/run/svc/links/x' })) as Body;
  expect((HostConfig.Mounts as object[])[1]).toEqual({
    ...{ Type: 'bind', Source: '/run/svc/links/x', Target: '/.svc-link', ReadOnly: true },
    BindOptions: { Propagation: 'rprivate' },
  });
  expect(Entrypoint.slice(1, 6)).toEqual(['serve', '--dial', '/.svc-link/s', '--settings-fd', '0']);
  expect(HostConfig.Binds).toEqual([]);
});

it.each([
  ['1000', 'uid=1000,gid=0,mode=0755'],
  ['1000:1001', 'uid=1000,gid=1001,mode=0755'],
  ['app', 'mode=1777'],
])('gives user %s a workspace it can write to', (user, owner) => {
  const { HostConfig, Env } = containerBody(order({ user })) as Body;
  expect(HostConfig.Tmpfs).toEqual({
    '/workspace': `rw,exec,nosuid,nodev,size=512m,nr_inodes=131072,${owner}`,
  });
  expect(Env).toEqual(['HOME=/workspace']);
});

it.each(['', '0', 'root', '0:0', 'root:root'])('treats user %j as root', (user) => {
  expect((containerBody(order({ user })) as Body).HostConfig.Tmpfs).toEqual({});
});

it('mounts writable memory where the root is read-only', () => {
  const config = { ...containerConfig(), read_only_rootfs: true };
  const { HostConfig } = containerBody(order({ config })) as Body;
  expect(HostConfig.ReadonlyRootfs).toBe(true);
  expect(HostConfig.Tmpfs).toEqual({
    '/tmp': 'rw,exec,nosuid,nodev,size=32m,nr_inodes=8192,mode=1777',
    '/workspace': 'rw,exec,nosuid,nodev,size=512m,nr_inodes=131072,uid=0,gid=0,mode=0755',
  });
});

it('passes the configured runtime, profile and capabilities', () => {
  const config = { ...containerConfig(), runtime: 'runsc', added_caps: [] };
  const { HostConfig } = containerBody(order({ config, seccomp: '{}', network: 'none' })) as Body;
  expect(HostConfig).toMatchObject({
    ...{ Runtime: 'runsc', CapDrop: ['ALL'], CapAdd: [], NetworkMode: 'none' },
    SecurityOpt: ['no-new-privileges', 'seccomp={}'],
  });
});

it('lets set-user-id programs work where configured, but never in a pool', () => {
  const config = { ...containerConfig(), no_new_privileges: false };
  const optionsOf = (more: object) =>
    (containerBody(order({ config, ...more })) as Body).HostConfig.SecurityOpt;
  expect(optionsOf({})).toEqual(['seccomp=PROFILE']);
  const spec = containerSpec('vm-golden', { role: 'pool' });
  expect(optionsOf({ spec })).toEqual(['no-new-privileges', 'seccomp=PROFILE']);
});

it('raises the process limit for the threads of a kernel in user space', () => {
  const { HostConfig } = containerBody(order({ runtime: 'runsc' })) as Body;
  expect(HostConfig.PidsLimit).toBe(8 * containerConfig().pids_limit);
});

it('mounts memory for declared volumes, unless the path is configured', () => {
  const volumes = ['/data', '/tmp', '/workspace'];
  const mounts = (change: Partial<ContainerOptions>) =>
    (containerBody(order({ volumes, ...change })) as Body).HostConfig.Tmpfs;
  const scratch = 'rw,exec,nosuid,nodev,size=32m,nr_inodes=8192,mode=1777';
  const nothing = 'ro,noexec,nosuid,nodev,size=4k,mode=0555';
  expect(mounts({})).toEqual({ '/data': scratch, '/tmp': scratch, '/workspace': scratch });
  expect(mounts({ config: { ...containerConfig(), read_only_rootfs: true } })).toMatchObject({
    ...{ '/data': nothing, '/tmp': scratch, '/workspace': expect.stringContaining('size=512m') },
  });
  expect(mounts({ spec: containerSpec('vm-golden', { role: 'pool' }) })).toMatchObject({
    ...{ '/data': nothing, '/tmp': nothing, '/workspace': nothing },
  });
});
