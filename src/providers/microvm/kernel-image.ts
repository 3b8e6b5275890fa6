// What a file of a kernel holds: a bzImage is a small starter with the packed kernel in it, an ELF file the kernel itself.
// Offsets are of the boot protocol. (Documentation/arch/x86/boot.rst)
import { ServiceError } from '../../domain/errors.ts';
import { type Packing, packingOf } from './packing.ts';

const BOOT_FLAG = 0xaa55;
/** The first protocol that tells where the packed kernel lies. */
const PROTOCOL_WITH_PAYLOAD = 0x0208;
const SECTOR = 512;
const ELF = '\x7fELF';
/** 64-bit, little endian. */
const CLASS_64_LITTLE = 0x0201;
const X86_64 = 62;
const NOTES = 4;
const PVH_NOTE = 18;
const BANNER = 'Linux version ';
const LONGEST_VERSION = 200;
const MAX_SIZE = 512 * 1024 * 1024;

interface PackedKernel {
  packing: Packing;
  payload: Buffer;
  /** Bytes when unpacked; undefined where the packing tells it itself. */
  size: number | undefined;
}

export interface KernelFacts {
  /** As its modules folder is named, such as `6.1.0-18-cloud-amd64`. */
  version: string;
  /** It can be entered by QEMU without a starter. */
  pvh: boolean;
}

/** The payload of a bzImage; undefined for an ELF file. Throws `provider_error` for anything else. */
export function packedKernel(file: Buffer): PackedKernel | undefined {
  if (file.toString('latin1', 0, 4) === ELF) return undefined;
  const isImage =
    file.length > 0x250 &&
    file.readUInt16LE(0x1fe) === BOOT_FLAG &&
    file.toString('latin1', 0x202, 0x206) === 'HdrS';
  if (!isImage || file.readUInt16LE(0x206) < PROTOCOL_WITH_PAYLOAD)
    throw unusable('is not a Linux kernel for x86');
  const start = ((file[0x1f1] || 4) + 1) * SECTOR + file.readUInt32LE(0x248);
  const payload = file.subarray(start, start + file.readUInt32LE(0x24c));
  if (payload.length < file.readUInt32LE(0x24c) || payload.length < 8) throw unusable('is cut off');
  const packing = packingOf(payload);
  if (packing === undefined) throw unusable('uses an unknown compression');
  return { packing, ...withSize(payload, packing) };
}

/** The kernel's build appends the size to every packing that does not end with it. (scripts/Makefile.lib, size_append) */
function withSize(payload: Buffer, packing: Packing): Pick<PackedKernel, 'payload' | 'size'> {
  const size = payload.readUInt32LE(payload.length - 4);
  if (size > MAX_SIZE) throw unusable('would be larger than 512 MiB');
  return packing === 'gzip' ? { payload, size } : { payload: payload.subarray(0, -4), size };
}

/** The facts of an unpacked kernel. Throws `provider_error` for a file that is not a kernel for this processor. */
export function kernelFacts(elf: Buffer): KernelFacts {
  const isElf = elf.length > 64 && elf.toString('latin1', 0, 4) === ELF;
  if (!isElf || elf.readUInt16BE(4) !== CLASS_64_LITTLE || elf.readUInt16LE(18) !== X86_64)
    throw unusable('holds no 64-bit kernel for x86');
  const at = elf.indexOf(BANNER);
  const text = at < 0 ? '' : elf.toString('latin1', at + BANNER.length, at + BANNER.length + LONGEST_VERSION);
  const [version = ''] = /^[A-Za-z0-9._+~-]{1,100}/.exec(text) ?? [];
  if (version === '' || version.startsWith('.')) throw unusable('does not tell its version');
  return { version, pvh: hasPvhNote(elf) };
}

function hasPvhNote(elf: Buffer): boolean {
  const table = Number(elf.readBigUInt64LE(32));
  const size = elf.readUInt16LE(54);
  const count = elf.readUInt16LE(56);
  if (size < 56 || table + size * count > elf.length) return false;
  for (let i = 0; i < count; i++) {
    const at = table + i * size;
    if (elf.readUInt32LE(at) !== NOTES) continue;
    const from = Number(elf.readBigUInt64LE(at + 8));
    if (hasNote(elf.subarray(from, from + Number(elf.readBigUInt64LE(at + 32))))) return true;
  }
  return false;
}

/** Notes are three numbers, a name and a description, the last two padded to four bytes. elf(5) */
function hasNote(notes: Buffer): boolean {
  const padded = (length: number) => (length + 3) & ~3;
  for (let at = 0; at + 12 <= notes.length; ) {
    const nameSize = notes.readUInt32LE(at);
    const isXen = notes.toString('latin1', at + 12, at + 15) === 'Xen';
    if (isXen && notes.readUInt32LE(at + 8) === PVH_NOTE) return true;
    at += 12 + padded(nameSize) + padded(notes.readUInt32LE(at + 4));
  }
  return false;
}

function unusable(why: string): ServiceError {
  return new ServiceError('provider_error', `The kernel for microVMs ${why}.`, {
    remedy:
      'Set providers.microvm.kernel_path to a kernel, such as the one in the package linux-image-cloud-amd64.',
  });
}
