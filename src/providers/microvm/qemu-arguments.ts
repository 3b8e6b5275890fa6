// A plan as QEMU's arguments. QEMU opens things in its own order: with `user`, everything named here is opened before
// it changes its user.
import { type Accelerator, kernelArguments, type MonitorPlan } from './monitor-kind.ts';

/** Disks are found by these in the guest, whatever order its kernel meets them in. (agent/src/vm/vm-disks.c) */
const IMAGE_SERIAL = 'svc-image';
const OVERLAY_SERIAL = 'svc-overlay';
/** The port of the agent and the file of its settings. (agent/src/vm/vm-port.c, vm-settings.c) */
export const AGENT_PORT = 'svc.agent';
const SETTINGS_NAME = 'opt/svc/settings';
/** The buffer of the kernel's console in the monitor: a guest can write without end. A power of two. */
export const CONSOLE_BYTES = 1024 * 1024;
export const CONSOLE_ID = 'console';
/** Name of the agent's port and of the socket behind it, in the monitor's words. */
export const AGENT_DEVICE = 'agent';

const MEBIBYTE = 1024 * 1024;
/** The buffer for translated code: QEMU would otherwise take up to a gigabyte. */
const TRANSLATIONS_MB = 128;

/** Every argument, the program's name excepted. */
export function qemuArguments(plan: MonitorPlan): string[] {
  return [
    ['-nodefaults', '-no-user-config'],
    // A guest that resets ends. While it boots not at once: monitor.ts reads its last words, and then has it end.
    ['-action', `reboot=shutdown,${plan.incoming ? 'shutdown=poweroff' : 'shutdown=pause'},panic=pause`],
    ['-name', `${plan.name},debug-threads=off`, '-pidfile', plan.pidfile],
    ['-sandbox', sandbox(plan)],
    plan.user ? ['-runas', `${plan.user.uid}:${plan.user.gid}`] : [],
    machine(plan),
    plan.incoming === undefined ? kernel(plan) : [],
    ['-fw_cfg', `name=${SETTINGS_NAME},file=${escaped(plan.settings)}`],
    consoles(plan),
    disk(plan.image, { serial: IMAGE_SERIAL, isReadOnly: true }),
    plan.overlay ? disk(plan.overlay, { serial: OVERLAY_SERIAL, isReadOnly: false }) : [],
    plan.network === 'user' ? network() : [],
    plan.incoming === undefined ? [] : ['-incoming', plan.incoming],
  ].flat();
}

/** The filter must permit the change of the user; afterwards there is no privilege left to raise. */
function sandbox({ user }: MonitorPlan): string {
  return `on,obsolete=deny,spawn=deny,resourcecontrol=deny${user ? '' : ',elevateprivileges=deny'}`;
}

/**
 * ACPI is how a kernel without the command line's `virtio_mmio.device` finds the devices, Debian's for one. Emulation
 * needs the timer and the interrupt controller of old: without them its firmware and kernel wait for seconds.
 */
function machine({ accelerator, memory_mb, vcpus, memory }: MonitorPlan): string[] {
  const old = accelerator.kind === 'emulation' ? 'on' : 'off';
  const backend = {
    id: 'memory',
    size: memory_mb * MEBIBYTE,
    ...(memory.kind === 'own'
      ? { 'qom-type': 'memory-backend-ram' }
      : { 'qom-type': 'memory-backend-file', 'mem-path': memory.path, share: memory.isShared }),
  };
  return [
    ['-machine', `microvm,acpi=on,pcie=off,rtc=on,pit=${old},pic=${old},memory-backend=memory`],
    ['-object', JSON.stringify(backend)],
    ['-m', `${memory_mb}M`, '-smp', `${vcpus}`],
    ['-accel', accelerated(accelerator), '-cpu', processor(accelerator)],
    ['-display', 'none', '-global', 'virtio-mmio.force-legacy=false'],
  ].flat();
}

/** A restored guest has its kernel in its memory. */
function kernel({ kernel: path, initramfs, accelerator }: MonitorPlan): string[] {
  return ['-kernel', path, '-initrd', initramfs, '-append', kernelArguments(accelerator)];
}

function accelerated({ kind }: Accelerator): string {
  if (kind === 'kvm') return 'kvm';
  // Written by one view and run by another, translations are in small pages: in huge ones each monitor has 16 MiB of them.
  return `tcg,thread=multi,split-wx=on,tb-size=${TRANSLATIONS_MB}`;
}

/**
 * Emulation moves strings byte by byte, which `erms` has kernels and libraries prefer; walks a fifth level of page tables at
 * each miss; and ends a piece of code wherever `smap` is lifted. A guest's user is root there: it guards nothing.
 */
function processor({ kind }: Accelerator): string {
  return kind === 'kvm' ? 'host' : 'max,erms=off,la57=off,smap=off';
}

function consoles({ sockets }: MonitorPlan): string[] {
  const listening = (path: string) => `path=${escaped(path)},server=on,wait=off`;
  return [
    ['-chardev', `ringbuf,id=${CONSOLE_ID},size=${CONSOLE_BYTES}`, '-serial', `chardev:${CONSOLE_ID}`],
    ['-chardev', `socket,id=qmp,${listening(sockets.monitor)}`, '-mon', 'chardev=qmp,mode=control'],
    ['-chardev', `socket,id=${AGENT_DEVICE},${listening(sockets.agent)}`],
    ['-device', 'virtio-serial-device'],
    ['-device', `virtserialport,id=${AGENT_DEVICE},chardev=${AGENT_DEVICE},name=${AGENT_PORT}`],
  ].flat();
}

/**
 * A full disk of this machine is an error in the guest; by default QEMU would stop it for good. Nothing is synced, as nothing
 * of it outlives the guest.
 */
function disk(path: string, { serial, isReadOnly }: { serial: string; isReadOnly: boolean }): string[] {
  const file = { driver: 'file', filename: path, 'read-only': isReadOnly };
  const cache = { direct: false, 'no-flush': true };
  const node = { driver: 'raw', 'node-name': serial, 'read-only': isReadOnly, discard: 'unmap', cache, file };
  const device = { driver: 'virtio-blk-device', drive: serial, serial };
  const errors = isReadOnly ? {} : { werror: 'report', rerror: 'report' };
  return ['-blockdev', JSON.stringify(node), '-device', JSON.stringify({ ...device, ...errors })];
}

function network(): string[] {
  return ['-netdev', 'user,id=network,ipv6=off', '-device', 'virtio-net-device,netdev=network'];
}

/** A comma ends a value in QEMU's own form. */
function escaped(path: string): string {
  return path.replaceAll(',', ',,');
}
