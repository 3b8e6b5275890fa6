// Kernels that nothing can boot, but that are put together as real ones are: an ELF file with a banner and a PVH note, and
// a bzImage around it; and LZ4 as the kernel's build makes it, of literals alone.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';

export const VERSION = '6.1.0-9-cloud-amd64';

export function elfKernel({ version = VERSION, pvh = true, machine = 62 } = {}): Buffer {
  const elf = Buffer.alloc(64 + 56);
  elf.write('\x7fELF\x02\x01', 'latin1');
  elf.writeUInt16LE(machine, 18);
  elf.writeBigUInt64LE(64n, 32);
  elf.writeUInt16LE(56, 54);
  elf.writeUInt16LE(1, 56);
  const notes = Buffer.concat([note('Other', 1), ...(pvh ? [note('Xen', 18)] : [])]);
  elf.writeUInt32LE(4, 64);
  elf.writeBigUInt64LE(BigInt(elf.length), 72);
  elf.writeBigUInt64LE(BigInt(notes.length), 96);
  return Buffer.concat([elf, notes, Buffer.from(`…Linux version ${version} (somebody@somewhere) #1\n\0`)]);
}

function note(name: string, type: number): Buffer {
  const text = Buffer.alloc((name.length + 4) & ~3);
  text.write(name);
  const head = Buffer.alloc(12);
  head.writeUInt32LE(name.length + 1, 0);
  head.writeUInt32LE(4, 4);
  head.writeUInt32LE(type, 8);
  return Buffer.concat([head, text, Buffer.alloc(4)]);
}

export function bzImage(payload: Buffer): Buffer {
  const sectors = 2;
  const image = Buffer.alloc((sectors + 1) * 512 + 100);
  image[0x1f1] = sectors;
  image.writeUInt16LE(0xaa55, 0x1fe);
  image.write('HdrS', 0x202);
  image.writeUInt16LE(0x020f, 0x206);
  image.writeUInt32LE(100, 0x248);
  image.writeUInt32LE(payload.length, 0x24c);
  return Buffer.concat([image, payload, Buffer.from('what follows')]);
}

export const gzipped = (elf: Buffer) => bzImage(gzipSync(elf));

/** As packed by a tool, with the size after it as the kernel's build puts it there. */
export function sized(packed: Buffer, size: number): Buffer {
  const tail = Buffer.alloc(4);
  tail.writeUInt32LE(size);
  return bzImage(Buffer.concat([packed, tail]));
}

export function lz4Literals(bytes: Buffer): Buffer {
  const lengths = [Math.min(15, bytes.length) << 4];
  for (let rest = bytes.length - 15; rest >= 0; rest -= 255) lengths.push(Math.min(255, rest));
  const block = Buffer.concat([Buffer.from(lengths), bytes]);
  const head = Buffer.from([0x02, 0x21, 0x4c, 0x18, 0, 0, 0, 0]);
  head.writeUInt32LE(block.length, 4);
  return Buffer.concat([head, block]);
}

/** A modules folder of VERSION below `root`, with the modules that Debian's kernel has for a guest. */
export function modulesFolder(root: string, change: { suffix?: string; pack?: (ko: Buffer) => Buffer } = {}) {
  const { suffix = '', pack = (ko: Buffer) => ko } = change;
  const folder = join(root, VERSION);
  const dependencies: Record<string, string[]> = {
    'drivers/virtio/virtio_ring': [],
    'drivers/virtio/virtio': ['drivers/virtio/virtio_ring'],
    'drivers/virtio/virtio_mmio': ['drivers/virtio/virtio', 'drivers/virtio/virtio_ring'],
    'drivers/block/virtio_blk': ['drivers/virtio/virtio', 'drivers/virtio/virtio_ring'],
    'drivers/char/virtio_console': ['drivers/virtio/virtio', 'drivers/virtio/virtio_ring'],
    'drivers/char/hw_random/virtio-rng': ['drivers/virtio/virtio', 'drivers/virtio/virtio_ring'],
    'drivers/net/virtio_net': ['net/core/failover', 'drivers/virtio/virtio', 'drivers/virtio/virtio_ring'],
    'net/core/failover': [],
    'fs/overlayfs/overlay': [],
    'fs/btrfs/btrfs': [],
  };
  const file = (name: string) => `kernel/${name}.ko${suffix}`;
  for (const name of Object.keys(dependencies)) {
    mkdirSync(dirname(join(folder, file(name))), { recursive: true });
    writeFileSync(join(folder, file(name)), pack(Buffer.from(`\x7fELF of ${name}`, 'latin1')));
  }
  const lines = Object.entries(dependencies).map(
    ([name, needs]) => `${file(name)}:${needs.map((need) => ` ${file(need)}`).join('')}\n`,
  );
  writeFileSync(join(folder, 'modules.dep'), lines.join(''));
  writeFileSync(join(folder, 'modules.builtin'), 'kernel/fs/ext4/ext4.ko\nkernel/fs/jbd2/jbd2.ko\n');
  return folder;
}
