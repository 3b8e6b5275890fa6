// How much a file system of ours needs for what it holds. ext4(5)

const BLOCK = 4096;
/** The bytes of a directory entry in addition to its name; and the longest link that needs no block. */
const NAME_BYTES = 12;
const SHORT_LINK = 59;

/** Counts files, folders and links; the root is counted already. */
export class Contents {
  inodes = 1;
  /** Blocks of 4096 bytes, for files, folders and long links. */
  blocks = 1;
  /** The size of all files. */
  bytes = 0;
  files = 0;

  /** The names in a folder, which is counted by `folder`. */
  names(lengths: readonly number[]): void {
    this.blocks += blocksOf(lengths.reduce((sum, length) => sum + length + NAME_BYTES, 2 * NAME_BYTES));
  }

  folder(): void {
    this.inodes++;
  }

  file(size: number): void {
    this.inodes++;
    this.files++;
    this.bytes += size;
    this.blocks += blocksOf(size);
  }

  link(size: number): void {
    this.inodes++;
    if (size > SHORT_LINK) this.blocks++;
  }
}

const blocksOf = (bytes: number) => Math.ceil(bytes / BLOCK);
