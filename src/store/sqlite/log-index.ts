// Reads the end of the write-ahead log from its index (`-shm`; sqlite.org/walformat.html, part 2). The index has the
// machine's byte order, which is little-endian on all supported machines; the salt has the log's order, big-endian.
import { closeSync, openSync, readSync } from 'node:fs';

const BYTES = 100;
const FRAME_AT = 16;
const SALT_AT = 32;
const FOLDED_AT = 96;

export interface LogPosition {
  /** Identifies the log: increases whenever it restarts. 0 if there is no log. */
  salt: number;
  /** The last frame of the last commit. */
  frame: number;
  /** Frames up to this one are also in the database file. */
  folded: number;
}

export interface LogIndex {
  /** The position of the last commit, if no other thread commits meanwhile. */
  read(): LogPosition;
  /** Call it after SQLite has closed the database: closing any descriptor of the index drops SQLite's locks on it. */
  close(): void;
}

/** Opens the index of a database in WAL mode that a connection has read. Throws as `fs` does. */
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
