// All that the launcher is told: who the sandbox is, what bounds it, and that the secret is nowhere but in a setting.
import { expect, it } from 'vitest';
import { type LaunchOrder, launchSettings } from '../../../../src/providers/userspace/launch.ts';
import type { UserspaceState } from '../../../../src/providers/userspace/state.ts';
import { blueprint } from './blueprint.ts';

const state = {
  folders: { root: '/run/svc', instance: '/run/svc/abc', short: 'abc', uids: '/run/svc/uids' },
  config: { max_disk_mb: 10 },
} as UserspaceState;

const order: LaunchOrder = {
  runner: { name: 'bwrap', path: '/usr/bin/bwrap' },
  blueprint,
  record: {
    instance: 'i',
    id: blueprint.id,
    epoch: 3,
    boot_id: 'b',
    image: 'host',
    created_at: 'c',
    expires_at: 'e',
    uid_slot: 5,
    cgroups: [],
  },
  secret: Buffer.alloc(16, 0xab),
  memory_mb: 64,
  staged: { 'svc-agent': '/opt/svc-agent' },
};

const told = (change: Partial<LaunchOrder> = {}) =>
  launchSettings(state, { ...order, ...change }).map(([key, value]) => `${key}=${value}`);

it('names the uid, the run folder and the staged agent', () => {
  expect(told()).toEqual(
    expect.arrayContaining([
      'run_dir=/run/svc/abc/sb-aaaaaaaaaaaa.3',
      'uid=1879048197',
      'gid=1879048197',
      'stage_dir=/run/svc/abc/stage',
      'stage=svc-agent=/opt/svc-agent',
      'runner=/usr/bin/bwrap',
      'built=1',
    ]),
  );
});

it('sets no uid for a server that is not root', () => {
  const { uid_slot: _, ...record } = order.record;
  expect(told({ record }).filter((line) => /^[ug]id=/.test(line))).toEqual([]);
});

it('keeps the secret out of the arguments, the record and the environment', () => {
  const secret = order.secret.toString('hex');
  for (const runner of ['bwrap', 'unshare'] as const) {
    const lines = told({ runner: { name: runner, path: `/usr/bin/${runner}` } });
    expect(lines.filter((line) => line.includes(secret))).toEqual([`secret=${secret}`]);
  }
});

it('limits each process only where no cgroup does', () => {
  expect(told()).toEqual(expect.arrayContaining(['limit_data=67108864', 'limit_processes=512']));
  const bounded: LaunchOrder['blueprint'] = {
    ...blueprint,
    workspace: '/data/ws',
    cgroups: {
      folders: ['/c/x'],
      limits: [
        { path: '/c/x/memory.max', value: '1', needed: true },
        { path: '/c/x/memory.swap.max', value: '0', needed: false },
      ],
      bounds: new Set(['memory', 'pids'] as const),
    },
  };
  const lines = told({ blueprint: bounded });
  expect(lines).toEqual(
    expect.arrayContaining([
      'cgroup=/c/x',
      'limit=1=/c/x/memory.max',
      'limit_try=0=/c/x/memory.swap.max',
      'limit_file=10485760',
    ]),
  );
  expect(lines.filter((line) => /^limit_(data|processes)=/.test(line))).toEqual([]);
});

it('gives the VM of a pool a block of uids', () => {
  const lines = told({
    blueprint: { ...blueprint, isPool: true },
    record: { ...order.record, uid_slot: 65_536 },
  });
  expect(lines).toEqual(
    expect.arrayContaining(['pool_uid=1879113728', 'pool_uids=65536', 'workspaces=256', 'workdir=/']),
  );
  expect(lines.filter((line) => /^([ug]id|limit_processes)=/.test(line))).toEqual([]);
});

it('names the ports by which programs connect', () => {
  const listens = { proxy_port: 7424, ports: [80, 443] };
  const lines = told({ blueprint: { ...blueprint, listens } });
  expect(lines.filter((line) => /_port=/.test(line))).toEqual([
    'proxy_port=7424',
    'gate_port=80',
    'gate_port=443',
  ]);
});
