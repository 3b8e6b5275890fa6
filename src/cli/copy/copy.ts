// The work of `svc sandbox cp`: parses SRC and DST and copies between them.
import { lstatSync, realpathSync, statSync } from 'node:fs';
import { dirname, join, posix, resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Client } from '../../client/client.ts';
import { ServiceError } from '../../domain/errors.ts';
import { printable } from '../../domain/printable.ts';
import { insidePath } from '../args.ts';
import { combinedFailure } from '../batch.ts';
import { localFailure } from '../local-failure.ts';
import { type Progress, speedText } from '../progress.ts';
import { sizeText } from '../render.ts';
import { downloadFolder, type SandboxFolder } from './archive-download.ts';
import { type Gaps, packedItems, withGaps } from './archive-items.ts';
import { uploadFolder } from './archive-upload.ts';
import type { Kind, Source, Target } from './endpoint.ts';
import { localItems, localSource } from './local-source.ts';
import { localTarget } from './local-target.ts';
import { sandboxSource } from './sandbox-source.ts';
import { sandboxTarget } from './sandbox-target.ts';
import { gather, type Tally, transfer } from './transfer.ts';

/** `ID:path`, `-`, or a path of this machine. */
export type CopyEndpoint =
  | { kind: 'sandbox'; id: string; path: string }
  | { kind: 'standard' }
  | { kind: 'local'; path: string };

/** Write a local path that looks like `sb-x:y` as `./sb-x:y`. */
export function parseEndpoint(text: string): CopyEndpoint {
  if (text === '-') return { kind: 'standard' };
  const [, id, path] = /^(sb[-_][^:/]*):(.*)$/s.exec(text) ?? [];
  if (id !== undefined && path !== undefined) return { kind: 'sandbox', id, path: insidePath(path) };
  if (text === '') throw new ServiceError('bad_request', 'The path is empty.');
  return { kind: 'local', path: text };
}

const INCOMPLETE = ' The copy is not complete.';

export interface CopyRequest {
  from: string;
  to: string;
}

/**
 * Copies a file, or a folder recursively, with modes. Copies into an existing folder at `to` under the name of the source, or
 * only its content when `from` ends in `/.`. Throws as `transfer` does, and `bad_request` if neither side is a sandbox.
 */
export async function copy(
  client: Client,
  { from, to }: CopyRequest,
  { progress, signal }: { progress: Progress; signal: AbortSignal },
): Promise<Tally> {
  const [start, end] = [parseEndpoint(from), parseEndpoint(to)];
  if (start.kind !== 'sandbox' && end.kind !== 'sandbox')
    throw new ServiceError('bad_request', 'Neither SRC nor DST is in a sandbox.', {
      remedy: 'Write that side as ID:/path.',
    });
  let hasBegun = false;
  const moved = (bytes: number) => {
    hasBegun ||= bytes > 0;
    progress.moved(bytes);
  };
  const total = (bytes: number) => progress.total(bytes);
  try {
    return await copied(client, { start, end }, { progress: { total, moved, end: () => undefined }, signal });
  } catch (error) {
    throw hasBegun ? incomplete(error) : error;
  }
}

async function copied(
  client: Client,
  { start, end }: Record<'start' | 'end', CopyEndpoint>,
  terms: CopyTerms,
): Promise<Tally> {
  const source = sourceAt(client, start);
  const place = await placeAt(client, end, source);
  const isOut = start.kind === 'sandbox' && place.kind === 'local';
  const asArchive = await archiveCopy(client, start, place);
  try {
    if (asArchive) return await asArchive(terms);
  } catch (error) {
    // No agent of ours runs in this sandbox, the archive has shown that the source is a file, or the server is older and has
    // no archives: the files are copied one by one.
    const others = isOut ? ['not_implemented', 'bad_request', 'not_found'] : ['not_implemented'];
    if (!(error instanceof ServiceError && others.includes(error.code))) throw error;
  }
  return transfer({ source, target: targetAt(client, place) }, terms.progress, terms.signal);
}

/** The failure of a copy that has copied something: its message says that a part is there. */
function incomplete(error: unknown): unknown {
  if (!(error instanceof ServiceError) || error.message.endsWith(INCOMPLETE)) return error;
  const { code, message, remedy, details, status } = error;
  return new ServiceError(code, `${message}${INCOMPLETE}`, {
    cause: error,
    status,
    ...(remedy !== undefined && { remedy }),
    ...(details && { details }),
  });
}

type CopyTerms = { progress: Progress; signal: AbortSignal };

/** How to copy a folder as one archive; undefined for anything else. Out of a sandbox, the archive itself shows if it is one. */
async function archiveCopy(
  client: Client,
  start: CopyEndpoint,
  end: CopyEndpoint,
): Promise<((terms: CopyTerms) => Promise<Tally>) | undefined> {
  if (end.kind === 'standard' || start.kind === 'standard') return undefined;
  if (start.kind === 'local')
    return end.kind === 'sandbox' && kindHere(start.path) === 'dir'
      ? (terms) => uploadLocal(start.path, { client, ...end }, terms)
      : undefined;
  const folder = { client, id: start.id, path: posix.resolve('/', start.path) };
  if (end.kind === 'local') return (terms) => downloadFolder(folder, localTarget(end.path), terms);
  if ((await kindInside(client, start.id, start.path)) !== 'dir') return undefined;
  return (terms) => copyBetween(folder, { client, ...end }, terms);
}

async function uploadLocal(path: string, target: SandboxFolder, terms: CopyTerms): Promise<Tally> {
  const all = await gather(localSource(path), terms.signal);
  terms.progress.total(all.reduce((sum, entry) => sum + (entry.type === 'file' ? (entry.size ?? 0) : 0), 0));
  return uploadFolder(() => localItems(path, all), target, terms);
}

async function copyBetween(from: SandboxFolder, to: SandboxFolder, terms: CopyTerms): Promise<Tally> {
  const gaps: Gaps = { left_out: new Map(), failed: new Map() };
  const items = async function* () {
    yield* packedItems(await from.client.files.openArchive(from.id, from.path, terms), gaps);
  };
  return withGaps(await uploadFolder(items, to, terms), gaps);
}

function sourceAt(client: Client, place: CopyEndpoint): Source {
  if (place.kind === 'standard') return inputSource(process.stdin);
  return place.kind === 'local' ? localSource(place.path) : sandboxSource(client, place.id, place.path);
}

/** Where the source itself goes: below a folder that exists, under its name. */
async function placeAt(client: Client, place: CopyEndpoint, { name }: Source): Promise<CopyEndpoint> {
  if (place.kind === 'standard') return place;
  if (place.kind === 'local') return { kind: 'local', path: localRoot(place.path, name) };
  const { id, path } = place;
  const isFolder = path.endsWith('/') || (await kindInside(client, id, path)) === 'dir';
  return { kind: 'sandbox', id, path: isFolder ? posix.join(path, name) : path };
}

function targetAt(client: Client, place: CopyEndpoint): Target {
  if (place.kind === 'standard') return outputTarget(process.stdout);
  return place.kind === 'local' ? localTarget(place.path) : sandboxTarget(client, place.id, place.path);
}

/** The local target path. Follows links in the user's own path once, here. */
function localRoot(path: string, name: string): string {
  try {
    if (kindHere(path) === 'dir') return join(realpathSync(path), name);
    if (path.endsWith('/'))
      throw new ServiceError('not_found', 'There is no such folder here.', { remedy: 'Make it first.' });
    const parent = realpathSync(dirname(resolve(path)));
    const place = join(parent, posix.basename(resolve(path)));
    return lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink() ? realpathSync(place) : place;
  } catch (error) {
    throw localFailure(error);
  }
}

function kindHere(path: string): Kind {
  const facts = statSync(path, { throwIfNoEntry: false });
  if (!facts) return 'absent';
  return facts.isDirectory() ? 'dir' : 'file';
}

async function kindInside(client: Client, id: string, path: string): Promise<Kind> {
  try {
    const { type } = await client.files.stat(id, path);
    if (type !== 'symlink') return type === 'dir' ? 'dir' : 'file';
    const found = await client.files.list(id, path, 1);
    return found.length === 1 && found[0]?.path === path ? 'file' : 'dir';
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'not_found') return 'absent';
    throw error;
  }
}

/** Standard input as one file, its bytes as they are. */
function inputSource(input: Readable): Source {
  return {
    name: '',
    async *entries() {
      yield { at: '', type: 'file' };
    },
    open: async () => input,
  };
}

function outputTarget(output: Writable): Target {
  const refuse = async () => {
    throw new ServiceError('bad_request', 'Standard output takes one file, not a folder.', {
      remedy: 'Name a folder here.',
    });
  };
  return {
    begin: async () => undefined,
    folder: refuse,
    file: async (_, open, signal) => pipeline(await open(), output, { signal, end: false }),
    link: refuse,
    end: async () => undefined,
  };
}

const MOST_NAMED = 100;

export interface CopyReport extends CopyRequest, Omit<Tally, 'failed'> {
  duration_ms: number;
}

/** The report. Throws one failure that names what was not copied. */
export function reported(ends: CopyRequest, { failed, ...tally }: Tally, duration_ms: number): CopyReport {
  if (failed.length === 0) return { ...ends, ...tally, duration_ms };
  const all = failed.length + tally.files + tally.folders + tally.links;
  throw combinedFailure(failed, `${failed.length} of ${all} were not copied.`);
}

/** What Ctrl-C leaves. */
export function interruptedText({ to }: CopyRequest, bytes: number): string {
  const place = to === '-' ? 'standard output' : printable(to);
  return `Interrupted after ${sizeText(bytes)}. The copy in ${place} is not complete.`;
}

export function reportText({ files, folders, links, bytes, duration_ms, left_out }: CopyReport): string {
  const counts = [counted(files, 'file'), counted(folders, 'folder'), counted(links, 'link')];
  const what = counts.filter((text) => text !== undefined).join(', ') || 'nothing';
  const seconds = (duration_ms / 1000).toFixed(1);
  const lines = left_out
    .slice(0, MOST_NAMED)
    .map(({ path, reason }) => `left out: ${printable(path)}: ${printable(reason)}`);
  if (left_out.length > MOST_NAMED) lines.push(`left out: ${left_out.length - MOST_NAMED} more`);
  return [...lines, `${what}, ${sizeText(bytes)} in ${seconds} s (${speedText(bytes, duration_ms)})`].join(
    '\n',
  );
}

function counted(count: number, noun: string): string | undefined {
  if (count === 0) return undefined;
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
