// The monitor's words for a plan: what keeps a guest in is asserted one by one.
import { expect, it } from 'vitest';
import type { MonitorPlan } from '../../../../src/providers/microvm/monitor-kind.ts';
import { qemuArguments } from '../../../../src/providers/microvm/qemu-arguments.ts';

const plan: MonitorPlan = {
  name: 'svc-1234-sb-1.1',
  accelerator: { kind: 'emulation', tscKhz: 2_600_000 },
  memory_mb: 256,
  vcpus: 2,
  kernel: '/data/vmlinux',
  initramfs: '/data/initramfs',
  image: '/data/a,b.img',
  overlay: '/data/overlay.img',
  settings: '/run/x/a,b/settings',
  network: 'none',
  sockets: { agent: '/run/x/agent.sock', monitor: '/run/x/monitor.sock' },
  pidfile: '/run/x/pid',
  user: { uid: 1_879_048_192, gid: 1_879_048_192 },
  memory: { kind: 'own' },
};

/** Values of an option, in order. */
const of = (option: string, change: Partial<MonitorPlan> = {}) => {
  const words = qemuArguments({ ...plan, ...change });
  return words.flatMap((word, i) => (word === option ? [words[i + 1]] : []));
};

it('confines the monitor and the guest', () => {
  const words = qemuArguments(plan);
  expect(words).toEqual(expect.arrayContaining(['-nodefaults', '-no-user-config']));
  expect(of('-sandbox')).toEqual(['on,obsolete=deny,spawn=deny,resourcecontrol=deny']);
  expect(of('-runas')).toEqual(['1879048192:1879048192']);
  expect(of('-sandbox', { user: undefined })).toEqual([
    'on,obsolete=deny,spawn=deny,resourcecontrol=deny,elevateprivileges=deny',
  ]);
  expect(of('-runas', { user: undefined })).toEqual([]);
  expect(of('-netdev')).toEqual([]);
});

it('opens the image read-only, and the overlay so that a full disk is an error in the guest', () => {
  const [image, overlay] = of('-blockdev').map((text) => JSON.parse(text ?? ''));
  expect(image).toMatchObject({ 'read-only': true, file: { filename: '/data/a,b.img', 'read-only': true } });
  expect(overlay).toMatchObject({ 'read-only': false, file: { filename: '/data/overlay.img' } });
  const devices = of('-device').filter((text) => text?.startsWith('{'));
  expect(devices.map((text) => JSON.parse(text ?? ''))).toEqual([
    { driver: 'virtio-blk-device', drive: 'svc-image', serial: 'svc-image' },
    {
      driver: 'virtio-blk-device',
      drive: 'svc-overlay',
      serial: 'svc-overlay',
      werror: 'report',
      rerror: 'report',
    },
  ]);
  expect(of('-blockdev', { overlay: undefined })).toHaveLength(1);
});

it('keeps old devices and names the clock only under emulation', () => {
  expect(of('-machine')).toEqual(['microvm,acpi=on,pcie=off,rtc=on,pit=on,pic=on,memory-backend=memory']);
  expect(of('-append')[0]).toContain('tsc=reliable tsc_early_khz=2600000');
  expect(of('-accel')).toEqual(['tcg,thread=multi,split-wx=on,tb-size=128']);
  const kvm = { accelerator: { kind: 'kvm' } } as const;
  expect(of('-machine', kvm)[0]).toContain('pit=off,pic=off');
  expect(of('-append', kvm)[0]).not.toMatch(/tsc|mitigations|lsm/);
  expect(of('-cpu')).toEqual(['max,erms=off,la57=off,smap=off']);
  expect(of('-cpu', kvm)).toEqual(['host']);
  expect(of('-accel', kvm)).toEqual(['kvm']);
});

it('cannot be misled by a comma in a path', () => {
  expect(of('-fw_cfg')).toEqual(['name=opt/svc/settings,file=/run/x/a,,b/settings']);
  expect(of('-chardev', { sockets: { agent: '/r/a,b', monitor: '/r/q' } })).toContain(
    'socket,id=agent,path=/r/a,,b,server=on,wait=off',
  );
});

it('uses memory from a file, shared or not, and waits for a state', () => {
  const memory = { kind: 'file', path: '/data/memory', isShared: false } as const;
  const [text] = of('-object', { memory });
  expect(JSON.parse(text ?? '')).toEqual({
    'qom-type': 'memory-backend-file',
    id: 'memory',
    size: 268_435_456,
    'mem-path': '/data/memory',
    share: false,
  });
  expect(of('-incoming', { incoming: 'defer' })).toEqual(['defer']);
  expect(of('-kernel')).toHaveLength(1);
  expect(of('-kernel', { incoming: 'defer' })).toEqual([]);
  expect(of('-incoming')).toEqual([]);
});

it('adds a network only on request', () => {
  expect(of('-netdev', { network: 'user' })).toEqual(['user,id=network,ipv6=off']);
});
