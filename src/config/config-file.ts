// Finds the one configuration file that counts and reads it; files are not merged.
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';

/** No configuration is near this; a larger file is a mistake or an attack on the YAML reader. */
const MAX_BYTES = 256 * 1024;

export interface FoundFile {
  /** As the operator knows it, for messages. */
  name: string;
  /** Absolute. */
  path: string;
  text: string;
  /** Its permission bits, with its kind. */
  mode: number;
}

export interface Place {
  cwd: string;
  home: string;
}

export type FileOutcome = { found?: FoundFile } | { name: string; fault: string };

/**
 * The first that exists of the asked-for file, `./svc.yaml` and `~/.svc/config.yaml`. An asked-for file must exist.
 * A file that is there but cannot be used is a fault, never passed over.
 */
export function findConfigFile(asked: string | undefined, { cwd, home }: Place): FileOutcome {
  if (asked !== undefined) return readConfigFile(asked, resolve(cwd, asked), true);
  const here = readConfigFile('svc.yaml', join(cwd, 'svc.yaml'), false);
  if ('fault' in here || here.found || !isAbsolute(home)) return here;
  return readConfigFile('~/.svc/config.yaml', join(home, '.svc', 'config.yaml'), false);
}

function readConfigFile(name: string, path: string, required: boolean): FileOutcome {
  try {
    const read = readRegularFile(path, MAX_BYTES);
    if (typeof read === 'string') return { name, fault: read };
    const text = new TextDecoder('utf-8', { fatal: true }).decode(read.bytes);
    return { found: { name, path, text, mode: read.mode } };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (!required && (code === 'ENOENT' || code === 'ENOTDIR')) return {};
    return { name, fault: faultOf(error) };
  }
}

function faultOf(error: unknown): string {
  if (error instanceof TypeError) return 'is not UTF-8 text';
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'is not there';
  return code === 'EACCES' ? 'may not be read by this user' : 'cannot be read';
}

/** Its bytes and mode, or what is wrong with it. Throws as `fs` does. Opened without waiting, so a FIFO cannot hang it. */
export function readRegularFile(path: string, maxBytes: number): { bytes: Buffer; mode: number } | string {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const facts = fstatSync(file);
    if (!facts.isFile()) return 'is not a regular file';
    if (facts.size > maxBytes) return `is over ${maxBytes / 1024} KiB`;
    return { bytes: readFileSync(file), mode: facts.mode };
  } finally {
    closeSync(file);
  }
}
