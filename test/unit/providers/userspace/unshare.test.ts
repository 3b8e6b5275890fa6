// The arguments of unshare and init. A change here is a change of the isolation: it must be meant.
import { expect, it } from 'vitest';
import { rootSettings, unshareArguments } from '../../../../src/providers/userspace/unshare.ts';
import { blueprint } from './blueprint.ts';

const lines = (settings: [string, string][]) => settings.map(([key, value]) => `${key}=${value}`);

it('requests every namespace', () => {
  expect(unshareArguments(blueprint).join(' ')).toBe(
    '--user --map-root-user --mount --propagation unchanged --pid --fork --ipc --uts --cgroup --net ' +
      '-- /run/svc/abc/stage/svc-agent init sb-aaaaaaaaaaaa.3',
  );
});

it("keeps the host's network only when the plan requires it", () => {
  expect(unshareArguments({ ...blueprint, network: 'host' })).not.toContain('--net');
});

it('describes the root file system', () => {
  expect(lines(rootSettings(blueprint))).toEqual([
    'hostname=sb-aaaaaaaaaaaa',
    'inside_uid=1000',
    'shm_bytes=64',
    'dir=/run',
    'dir=/var',
    'link=/var/tmp=../tmp',
    'link=/bin=usr/bin',
    'bind=/usr=/usr',
    'bind=/etc=/run/svc/abc/etc',
    'tmpfs=128=/tmp',
    'tmpfs=256=/workspace',
  ]);
});

it('shares a workspace on disk and mounts an overlay over an image', () => {
  const view = { ...blueprint.view, overlay: '/images/one' };
  const settings = lines(rootSettings({ ...blueprint, view, workspace: '/data/ws' }));
  expect(settings).toEqual(
    expect.arrayContaining(['share=/workspace=/data/ws', 'overlay=/images/one', 'root_bytes=32']),
  );
  expect(settings).not.toContain('tmpfs=256=/workspace');
});

it('creates no user namespace and no shared writable folder for a pool', () => {
  const pool = { ...blueprint, isPool: true as const, view: { ...blueprint.view, overlay: '/images/one' } };
  expect(unshareArguments(pool).slice(0, 4)).toEqual(['--mount', '--propagation', 'unchanged', '--pid']);
  const settings = lines(rootSettings(pool));
  expect(settings).toEqual(expect.arrayContaining(['shm_bytes=0', 'dir=/tmp', 'dir=/workspaces']));
  expect(settings.filter((line) => /^(tmpfs|overlay|root_bytes)=/.test(line))).toEqual([]);
  expect(lines(rootSettings({ ...pool, workspace: '/data/ws' }))).toContain('share=/workspaces=/data/ws');
});
