// Tar archives as tests need them, hostile ones too: each entry says exactly what its header holds.
export interface TarPart {
  name: string | Buffer;
  /** '0' unless given. */
  type?: string;
  content?: string | Buffer;
  link?: string;
  mode?: number;
  uid?: number;
  gid?: number;
  mtime?: number;
  /** Instead of the content's. */
  size?: number;
}

export function tarArchive(...parts: TarPart[]): Buffer {
  return Buffer.concat([...parts.map(entry), Buffer.alloc(1024)]);
}

/** A pax header for the entry after it. */
export function pax(records: Record<string, string>): TarPart {
  const lines = Object.entries(records).map(([key, value]) => {
    const rest = Buffer.from(` ${key}=${value}\n`, 'latin1');
    let length = rest.length;
    while (`${length}`.length + rest.length !== length) length = `${length}`.length + rest.length;
    return Buffer.concat([Buffer.from(`${length}`), rest]);
  });
  return { name: 'pax', type: 'x', content: Buffer.concat(lines) };
}

function entry(part: TarPart): Buffer {
  const content = Buffer.from(part.content ?? '');
  const block = Buffer.alloc(512);
  const octal = (value: number, at: number, digits: number) =>
    block.write(`${value.toString(8).padStart(digits - 1, '0')}\0`, at, 'latin1');
  Buffer.from(part.name).copy(block, 0, 0, 100);
  octal(part.mode ?? 0o644, 100, 8);
  octal(part.uid ?? 0, 108, 8);
  octal(part.gid ?? 0, 116, 8);
  octal(part.size ?? content.length, 124, 12);
  octal(part.mtime ?? 0, 136, 12);
  block.write(part.type ?? '0', 156);
  block.write(part.link ?? '', 157, 100, 'latin1');
  block.write('ustar\x0000', 257, 'latin1');
  sum(block);
  return Buffer.concat([block, content, Buffer.alloc((512 - (content.length % 512)) % 512)]);
}

/** Writes the sum that a header has to have. */
function sum(block: Buffer): void {
  block.write(' '.repeat(8), 148, 'latin1');
  const value = block.reduce((total, byte) => total + byte, 0);
  block.write(`${value.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
}

/** Mends, in place, the sum of each block that looks like a header. */
export function summed(archive: Buffer): void {
  for (let at = 0; at + 512 <= archive.length; at += 512) {
    const block = archive.subarray(at, at + 512);
    if (block.toString('latin1', 257, 262) === 'ustar') sum(block);
  }
}
