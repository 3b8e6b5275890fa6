// Cgroup folders and values from what a host has: version 1, hybrid, version 2, a container's part of a tree, nothing.
import { expect, it } from 'vitest';
import {
  type Controller,
  findCgroupHost,
  parseHierarchies,
} from '../../../../src/providers/local/cgroup-host.ts';
import { planCgroups } from '../../../../src/providers/local/cgroup-plan.ts';

const HYBRID_MOUNTS = `22 27 0:21 / /proc rw,relatime - proc proc rw
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
39 31 0:36 / /sys/fs/cgroup/pids rw,relatime shared:9 - cgroup cgroup rw,pids
40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`;
const HYBRID_OWN = '9:name=systemd:/\n8:pids:/\n4:memory:/api/63\n1:cpu,cpuacct:/\n0::/\n';

it('finds the own folder in each hierarchy of a hybrid host', () => {
  const found = parseHierarchies(HYBRID_MOUNTS, HYBRID_OWN);
  expect(found.filter((one) => one.version === 1)).toEqual([
    { version: 1, controllers: ['cpu', 'cpuacct'], folder: '/sys/fs/cgroup/cpu,cpuacct' },
    { version: 1, controllers: ['memory'], folder: '/sys/fs/cgroup/memory/api/63' },
    { version: 1, controllers: ['pids'], folder: '/sys/fs/cgroup/pids' },
  ]);
});

it('finds the own folder of version 2', () => {
  const mounts = '30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n';
  expect(parseHierarchies(mounts, '0::/system.slice/svc.service\n')).toEqual([
    { version: 2, controllers: ['memory', 'pids', 'cpu'], folder: '/sys/fs/cgroup/system.slice/svc.service' },
  ]);
});

it('looks above the leaf that the server was moved to before', () => {
  const mounts = '30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n';
  const [found] = parseHierarchies(mounts, '0::/system.slice/svc.service/svc-server\n');
  expect(found?.folder).toBe('/sys/fs/cgroup/system.slice/svc.service');
});

// deploy/systemd and docs/production.md rely on it: what a unit bounds, it bounds with its sandboxes.
it.each([
  [
    1,
    '31 23 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory',
    '4:memory:/system.slice/svc.service',
  ],
  [2, '30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw', '0::/system.slice/svc.service/svc-server'],
] as const)('plans version %i below the folder of the unit', (version, mounts, own) => {
  const folder = parseHierarchies(`${mounts}\n`, `${own}\n`)[0]?.folder ?? '';
  expect(folder).toMatch(/\/system\.slice\/svc\.service$/);
  expect(plan(version, [['memory', folder]]).folders).toEqual([`${folder}/svc-x`]);
});

it("looks below the root of a container's part of the tree", () => {
  const mounts = '30 23 0:26 /docker/abc /sys/fs/cgroup/memory ro,nosuid - cgroup cgroup rw,memory\n';
  const [found] = parseHierarchies(mounts, '4:memory:/docker/abc/inner\n');
  expect(found?.folder).toBe('/sys/fs/cgroup/memory/inner');
});

const plan = (version: 1 | 2, places: [Controller, string][]) =>
  planCgroups({ version, folders: new Map(places) }, 'svc-x', { memory_mb: 64, vcpus: 2, processes: 512 });

it('plans version 1', () => {
  const { folders, limits, bounds } = plan(1, [
    ['memory', '/m'],
    ['pids', '/p'],
    ['cpu', '/c'],
  ]);
  expect(folders).toEqual(['/m/svc-x', '/p/svc-x', '/c/svc-x']);
  expect(limits).toEqual([
    { path: '/m/svc-x/memory.limit_in_bytes', value: '67108864', needed: true },
    { path: '/m/svc-x/memory.memsw.limit_in_bytes', value: '67108864', needed: false },
    { path: '/p/svc-x/pids.max', value: '512', needed: true },
    { path: '/c/svc-x/cpu.cfs_period_us', value: '100000', needed: true },
    { path: '/c/svc-x/cpu.cfs_quota_us', value: '200000', needed: true },
  ]);
  expect([...bounds]).toEqual(['memory', 'pids', 'cpu']);
});

it('plans one folder for version 2', () => {
  const { folders, limits } = plan(2, [
    ['memory', '/u'],
    ['pids', '/u'],
    ['cpu', '/u'],
  ]);
  expect(folders).toEqual(['/u/svc-x']);
  expect(limits.map(({ path, value }) => `${path} ${value}`)).toEqual([
    '/u/svc-x/memory.max 67108864',
    '/u/svc-x/memory.swap.max 0',
    '/u/svc-x/pids.max 512',
    '/u/svc-x/cpu.max 200000 100000',
  ]);
});

it('plans nothing where nothing can be written', () => {
  expect(plan(1, [])).toMatchObject({ folders: [], limits: [] });
});

it('never throws on this host, and leaves no trial folder', async () => {
  const found = await findCgroupHost('svc-unit-trial');
  for (const base of found.folders.values()) expect(base).toMatch(/^\//);
});
