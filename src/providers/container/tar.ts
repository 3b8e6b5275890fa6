// Writes a tar archive with one file, and reads the first file of one: enough to seed a volume.
// POSIX ustar: blocks of 512 bytes, numbers in octal.
const BLOCK = 512;
const SIZE_AT = 124;
const SIZE_LENGTH = 12;
const TYPE_AT = 156;
const FILE = 0x30;

interface TarFile {
  /** A path without a leading slash, shorter than 100 bytes. */
  path: string;
  bytes: Buffer;
  mode: number;
}

/** Owned by root, at time 0: the same file gives the same archive everywhere. */
export function tarOf({ path, bytes, mode }: TarFile): Buffer {
  const folder = path.slice(0, path.lastIndexOf('/') + 1);
  const padding = Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK);
  const entries = [header(path, { size: bytes.length, mode, type: '0' }), bytes, padding];
  const parents = folder === '' ? [] : [header(folder, { size: 0, mode: 0o755, type: '5' })];
  return Buffer.concat([...parents, ...entries, Buffer.alloc(2 * BLOCK)]);
}

/** Contents of the first file in an archive; undefined for an incomplete file or an invalid header. */
export function firstFile(archive: Buffer): Buffer | undefined {
  for (let at = 0; at + BLOCK <= archive.length; ) {
    const size = sizeIn(archive, at);
    if (size === undefined) return undefined;
    const start = at + BLOCK;
    if (archive[at + TYPE_AT] === FILE)
      return start + size <= archive.length ? archive.subarray(start, start + size) : undefined;
    at = start + Math.ceil(size / BLOCK) * BLOCK;
  }
  return undefined;
}

/** A size in octal digits; undefined for anything else. Never negative, so reading always moves forward. */
function sizeIn(archive: Buffer, at: number): number | undefined {
  const digits = archive.toString('latin1', at + SIZE_AT, at + SIZE_AT + SIZE_LENGTH);
  const [, octal] = /^ *([0-7]*)[\0 ]*$/.exec(digits) ?? [];
  return octal === undefined ? undefined : Number.parseInt(octal || '0', 8);
}

function header(path: string, { size, mode, type }: { size: number; mode: number; type: string }): Buffer {
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`;
  block.write(path, 0, 100, 'latin1');
  block.write(octal(mode, 7) + octal(0, 7) + octal(0, 7), 100, 'latin1');
  block.write(octal(size, 11) + octal(0, 11), 124, 'latin1');
  // The checksum counts its own field as spaces.
  block.write(' '.repeat(8), 148, 'latin1');
  block.write(`${type}`, 156, 'latin1');
  block.write('ustar\x0000', 257, 'latin1');
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return block;
}
