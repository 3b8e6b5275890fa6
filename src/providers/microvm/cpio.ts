// An archive as the kernel takes for its first root. (Documentation/driver-api/early-userspace/buffer-format.rst, "newc")
// Owned by root, at time 0: the same entries are the same archive everywhere.
const MAGIC = '070701';
const FOLDER = 0o040000;
const FILE = 0o100000;
const CHARACTER_DEVICE = 0o020000;

export type CpioEntry = {
  /** A path without a leading slash; folders come before their contents. */
  path: string;
  /** Permission bits. */
  mode: number;
} & ({ type: 'folder' } | { type: 'file'; bytes: Buffer } | { type: 'device'; major: number; minor: number });

export function cpioOf(entries: readonly CpioEntry[]): Buffer {
  const parts = entries.flatMap((entry, index) => record(entry, index + 1));
  return Buffer.concat([...parts, header({ name: 'TRAILER!!!', ino: 0, mode: 0, size: 0, device: [0, 0] })]);
}

function record(entry: CpioEntry, ino: number): Buffer[] {
  const about = { name: entry.path, ino, size: 0, device: [0, 0] as [number, number] };
  if (entry.type === 'folder') return [header({ ...about, mode: FOLDER | entry.mode })];
  if (entry.type === 'device')
    return [header({ ...about, mode: CHARACTER_DEVICE | entry.mode, device: [entry.major, entry.minor] })];
  const { bytes } = entry;
  return [header({ ...about, mode: FILE | entry.mode, size: bytes.length }), bytes, padding(bytes.length)];
}

interface Header {
  name: string;
  ino: number;
  mode: number;
  size: number;
  device: [major: number, minor: number];
}

/** Thirteen numbers of eight hexadecimal digits after the magic, then the name with its NUL. */
function header({ name, ino, mode, size, device: [major, minor] }: Header): Buffer {
  const length = Buffer.byteLength(name) + 1;
  const links = 1;
  const numbers = [ino, mode, 0, 0, links, 0, size, 0, 0, major, minor, length, 0];
  const text = MAGIC + numbers.map((number) => number.toString(16).padStart(8, '0')).join('');
  const bytes = Buffer.from(`${text}${name}\0`);
  return Buffer.concat([bytes, padding(bytes.length)]);
}

/** Headers with their names, and contents, end at multiples of four. */
function padding(length: number): Buffer {
  return Buffer.alloc((4 - (length % 4)) % 4);
}
