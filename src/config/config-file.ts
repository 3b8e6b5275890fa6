// Finds the configuration files that count and reads them: what is named alone, else the layers of folder and home.
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';

/** No configuration is near this; a larger file is a mistake or an attack on the YAML reader. */
const MAX_BYTES = 256 * 1024;

export interface ConfigFile {
  /** As the operator knows it, for messages. */
  name: string;
  /** Absolute. */
  path: string;
}

export interface FoundFile extends ConfigFile {
  text: string;
  /** Its permission bits, with its kind. */
  mode: number;
}

export interface ConfigLocation {
  cwd: string;
  home: string;
}

export interface FileFault extends ConfigFile {
  fault: string;
}

export type FileOutcome = FoundFile | FileFault;

/** What names it again: no shell has put the home in its name. */
export const givenPath = ({ name, path }: ConfigFile): string => (name.startsWith('~/') ? path : name);

/**
 * Strongest first. Files that are named are read alone, and must exist; else those that exist of `./svc.yaml` and
 * `~/.svc/config.yaml`. A file that is there but cannot be used is a fault, never passed over.
 */
export function findConfigFiles(named: readonly string[], { cwd, home }: ConfigLocation): FileOutcome[] {
  if (named.length > 0)
    return named.flatMap((name) => readConfigFile({ name, path: resolve(cwd, name) }, true) ?? []);
  const here = { name: 'svc.yaml', path: join(cwd, 'svc.yaml') };
  const atHome = { name: '~/.svc/config.yaml', path: join(home, '.svc', 'config.yaml') };
  return [here, ...(isAbsolute(home) ? [atHome] : [])].flatMap((file) => readConfigFile(file, false) ?? []);
}

function readConfigFile(file: ConfigFile, required: boolean): FileOutcome | undefined {
  try {
    const read = readRegularFile(file.path, MAX_BYTES);
    if (typeof read === 'string') return { ...file, fault: read };
    const text = new TextDecoder('utf-8', { fatal: true }).decode(read.bytes);
    return { ...file, text, mode: read.mode };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (!required && (code === 'ENOENT' || code === 'ENOTDIR')) return undefined;
    return { ...file, fault: faultOf(error) };
  }
}

function faultOf(error: unknown): string {
  if (error instanceof TypeError) return 'is not UTF-8 text';
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'is not there';
  return code === 'EACCES' ? 'is not readable by this user' : 'cannot be read';
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
