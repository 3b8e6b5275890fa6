// What the providers on this host share about a runtime: the record in its run folder (runtime.json), and lists by the run folders,
// which survive a restart of the server. Only the shape of a record is trusted: a process is checked against its start time.
import { lstat, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock, Logger, Random } from '../../domain/ports.ts';
import type { Host } from '../../host/host.ts';
import type { RuntimeListing, RuntimeRef, RuntimeSpec, RuntimeState } from '../provider.ts';
import {
  type InstanceFolders,
  parseRuntimeName,
  runFolder,
  runtimeName,
  runtimeNames,
} from './instance-folders.ts';
import { ifPresent } from './presence.ts';

export interface LocalDeps<Config> {
  host: Host;
  clock: Clock;
  random: Random;
  logger: Logger;
  config: Config;
  /**
   * The store's instance; `key` is hex. It is part of the name of every runtime, so that two servers on one host never touch
   * each other's.
   */
  instance: { id: string; key: string };
  /** Where the package lies: svc-agent is found below it. */
  packageRoot: string;
  /** XDG_RUNTIME_DIR of an ordinary user's session. */
  runtimeDir?: string | undefined;
}

export interface LocalRecord {
  instance: string;
  id: string;
  epoch: number;
  boot_id: string;
  image: string;
  created_at: string;
  expires_at: string;
  /** Absent when the runtime has the server's uid. */
  uid_slot?: number;
  /** Folders to remove with the runtime, wherever the server's own cgroup was then; absent in older records. */
  cgroups?: string[];
}

const TEXTS = ['instance', 'id', 'boot_id', 'image', 'created_at', 'expires_at'];

/** The record of a runtime that starts now. */
export function newRecord(
  { instance, host, clock }: LocalDeps<unknown>,
  { id, epoch, expires_at }: RuntimeSpec,
  { image, slot }: { image: string; slot: number | undefined },
): LocalRecord {
  const created_at = new Date(clock.now()).toISOString();
  const base = { instance: instance.id, id, epoch, boot_id: host.bootId, image, created_at, expires_at };
  return { ...base, ...(slot !== undefined && { uid_slot: slot }) };
}

/**
 * The record in a run folder, with numbers in the fields `counts`, and in `maybe` where those are present; undefined when it does
 * not exist or is invalid: the folder is then cleared. Throws `provider_error` when it cannot be read.
 */
export async function readLocalRecord<T extends LocalRecord>(
  folder: string,
  { counts, maybe }: { counts: readonly string[]; maybe: readonly string[] },
): Promise<T | undefined> {
  try {
    const fields: unknown = JSON.parse(await readFile(join(folder, 'runtime.json'), 'utf8'));
    if (typeof fields !== 'object' || fields === null) return undefined;
    const record = fields as Record<string, unknown>;
    const { mark, cgroups } = record;
    const isValid =
      TEXTS.every((key) => typeof record[key] === 'string') &&
      ['epoch', ...counts].every((key) => isCount(record[key])) &&
      ['uid_slot', ...maybe].every((key) => record[key] === undefined || isCount(record[key])) &&
      (mark === undefined || typeof mark === 'string') &&
      (cgroups === undefined ||
        (Array.isArray(cgroups) && cgroups.every((path) => typeof path === 'string')));
    return isValid ? (record as unknown as T) : undefined;
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (cause instanceof SyntaxError || code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new ServiceError('provider_error', 'Could not read the record of a runtime.', { cause });
  }
}

const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;

/** What lists need of a provider. */
interface LocalRuntimes<T> {
  folders: InstanceFolders;
  readRecord(folder: string): Promise<T | undefined>;
  isRunning(record: T): Promise<boolean>;
  /** Whether no user asked for the runtime of this name. */
  isHidden(name: string): boolean;
}

export async function inspectLocal<T extends LocalRecord>(
  runtimes: LocalRuntimes<T>,
  ref: RuntimeRef,
): Promise<RuntimeState> {
  return (await describe(runtimes, runtimeName(ref)))?.state ?? 'gone';
}

/** A folder without a record is listed as stopped: something has to be cleared. */
export async function listLocal<T extends LocalRecord>(
  runtimes: LocalRuntimes<T>,
): Promise<RuntimeListing[]> {
  const names = (await runtimeNames(runtimes.folders)).filter((name) => !runtimes.isHidden(name));
  const listings = await Promise.all(names.map((name) => describe(runtimes, name)));
  return listings.filter((listing) => listing !== undefined);
}

async function describe<T extends LocalRecord>(
  { folders, readRecord, isRunning }: LocalRuntimes<T>,
  name: string,
): Promise<RuntimeListing | undefined> {
  const label = parseRuntimeName(name);
  const folder = runFolder(folders, name);
  const facts = await ifPresent(lstat(folder));
  if (!label || !facts?.isDirectory()) return undefined;
  const record = await readRecord(folder);
  const state = record !== undefined && (await isRunning(record)) ? 'running' : 'stopped';
  return { runtime_id: name, ...label, state, created_at: record?.created_at ?? facts.ctime.toISOString() };
}
