// QEMU without our choices, for the row that says what they save: a program that takes the arguments of our monitor and
// starts an ordinary PC with its default processor, the kernel's packed file and a command line that is only quiet. Agent,
// disks and port are the same, but on PCI, whose driver joins the first root: our own guests have none. Not QEMU's
// `microvm` as it comes: with one clock only to measure by, its boot has no end where a busy machine spoils that.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** The row's guests have it as their root, so that it is there. */
const BUSYBOX = '/bin/busybox';
const MAX_BYTES = 64 * 1024 * 1024;
/** A line of modules.dep: the path of the driver, then what it needs, the nearest first. */
const PCI_DRIVER = /^\S*\/virtio_pci\.ko.*$/m;
const MMIO_DRIVER = '/modules/virtio_mmio.ko\n';
const ORDER = /(?:\/modules\/\w+\.ko\n)+/;

export interface StockMachine {
  /** The folder of the program and its files; created here. */
  folder: string;
  /** The kernel's version, as /boot and /lib/modules name it. */
  version: string;
  /** `providers.microvm.data_dir` of a server that has started a guest. */
  machines: string;
}

/** The program's path, for `providers.microvm.monitor_path`. */
export function stockMonitor({ folder, version, machines }: StockMachine): string {
  const modules = join(folder, 'root/modules');
  mkdirSync(modules, { recursive: true });
  const ours = readInitramfs(machines);
  const added = addDriver(modules, version);
  const order = (ORDER.exec(ours.toString('latin1'))?.[0] ?? '').replace(MMIO_DRIVER, added.join(''));
  const once = new Set(order.split(/(?<=\n)/));
  writeFileSync(join(modules, 'order'), [...once].join(''));
  const initramfs = join(folder, 'initramfs');
  // The kernel unpacks one archive after the other: what is in both is as in the last.
  writeFileSync(initramfs, Buffer.concat([ours, archiveOf(join(folder, 'root'))]));
  const monitor = join(folder, 'monitor');
  writeFileSync(monitor, program(`/boot/vmlinuz-${version}`, initramfs), { mode: 0o755 });
  return monitor;
}

function readInitramfs(machines: string): Buffer {
  const folder = join(machines, 'initramfs');
  const [name = ''] = readdirSync(folder);
  return readFileSync(join(folder, name, 'initramfs'));
}

/** The driver and what it needs, less what the kernel has built in; lines of /modules/order. */
function addDriver(modules: string, version: string): string[] {
  const installed = join('/lib/modules', version);
  const line = PCI_DRIVER.exec(readFileSync(join(installed, 'modules.dep'), 'utf8'))?.[0] ?? '';
  const paths = line.split(/[: ]+/).filter(Boolean).reverse();
  return paths.map((path) => {
    const name = basename(path).replace(/\.ko.*$/, '.ko');
    writeFileSync(join(modules, name), unpacked(join(installed, path)));
    return `/modules/${name}\n`;
  });
}

/** Debian has them as they are, or by xz. */
function unpacked(path: string): Buffer {
  return path.endsWith('.xz') ? busybox(['xz', '-dc', path]) : readFileSync(path);
}

function archiveOf(root: string): Buffer {
  const files = readdirSync(join(root, 'modules')).map((name) => `modules/${name}\n`);
  return busybox(['cpio', '-o', '-H', 'newc'], { cwd: root, input: files.join('') });
}

function busybox(args: readonly string[], options: { cwd?: string; input?: string } = {}): Buffer {
  return execFileSync(BUSYBOX, args, { ...options, maxBuffer: MAX_BYTES });
}

function program(kernel: string, initramfs: string): string {
  return `#!/bin/sh
for given do
  shift
  case $given in
    microvm,*) given=pc,memory-backend=memory ;;
    tcg,*) given=tcg ;;
    max,*) given=qemu64 ;;
    console=*) given='console=ttyS0 quiet' ;;
    */vmlinux) given=${kernel} ;;
    */initramfs) given=${initramfs} ;;
    virtio-serial-device) given=virtio-serial-pci ;;
    virtio-net-device,*) given=virtio-net-pci,\${given#*,} ;;
    *virtio-blk-device*) given=\${given%%virtio-blk-device*}virtio-blk-pci\${given#*virtio-blk-device} ;;
  esac
  set -- "$@" "$given"
done
exec qemu-system-x86_64 "$@"
`;
}
