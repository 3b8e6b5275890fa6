// Where the write-ahead log ends, read from its index (`-shm`; sqlite.org/walformat.html, part 2). The index is of the
// machine's byte order, which is little-endian on all that we run on; the salt is kept as the log has it, big-endian.
import { closeSync, openSync, readSync } from 'node:fs';

const BYTES = 100;
const FRAME_AT = 16;
const SALT_AT = 32;
const FOLDED_AT = 96;

export interface LogPosition {
  /** Of the log: one more whenever it begins from its start again. 0 where there is none. */
  salt: number;
  /** The last frame of the last commit. */
  frame: number;
  /** Up to this frame all is in the database file, too. */
  folded: number;
}

export interface LogIndex {
  /** Of the last commit, when no other thread commits meanwhile. */
  read(): LogPosition;
  /** Not before SQLite has closed the database: closing any descriptor of the index drops SQLite's locks on it. */
  close(): void;
}

/** Of a database in WAL mode that a connection has read from. Throws as `fs` does. */
export function openLogIndex(path: string): LogIndex {
  const fd = openSync(`${path}-shm`, 'r');
  const header = Buffer.alloc(BYTES);
  return {
    read: () => {
      if (readSync(fd, header, 0, BYTES, 0) < BYTES) return { salt: 0, frame: 0, folded: 0 };
      return {
        salt: header.readUInt32BE(SALT_AT),
        frame: header.readUInt32LE(FRAME_AT),
        folded: header.readUInt32LE(FOLDED_AT),
      };
    },
    close: () => closeSync(fd),
  };
}
