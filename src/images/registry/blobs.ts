// Fetches the bytes of a layer into a file, by as many transfers as it takes, and checks them against their digest.
import { createHash, type Hash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import { asDiskFull } from '../unpack.ts';
import type { RegistryClient } from './client.ts';
import { type Answer, bodyOf, discard } from './connections.ts';
import { brokenReply, invalidImage, unavailable } from './faults.ts';

const MOST_TRIES = 5;
const PAUSE_MS = 500;
/** A transfer that brought as much was worth it: tries are counted again. */
const PROGRESS_BYTES = 8 * 1024 * 1024;
const READ_BYTES = 1024 * 1024;
/** Each write is a task of another thread: small ones cost more than the copy. */
const WRITE_BYTES = 512 * 1024;

export interface BlobOrder {
  clock: Clock;
  /** Where it may be had, the first one first. */
  clients: readonly RegistryClient[];
  digest: string;
  size: number;
  /** Open for reading and appending. The transfer continues after the bytes that it has. */
  file: FileHandle;
  /** From 1. */
  layer: number;
  signal: AbortSignal;
  /** Bytes in the file; `fetched` are those that came from a registry since the last call. */
  onBytes(done: number, fetched: number): void;
}

/** Throws errors of registries, `provider_error` for other bytes than the digest's, `resource_limit` for a full disk. */
export async function fetchBlob(order: BlobOrder): Promise<void> {
  let failure: unknown;
  for (const client of order.clients) {
    try {
      await fetchFrom(order, client);
      return;
    } catch (error) {
      order.signal.throwIfAborted();
      failure = error;
    }
  }
  throw failure;
}

interface Got {
  hash: Hash;
  bytes: number;
}

async function fetchFrom(order: BlobOrder, client: RegistryClient): Promise<void> {
  const got = await hashOf(order);
  const isOurs = got.bytes === 0;
  await transferAll(order, client, got);
  if (digestOf(got) === order.digest) return;
  await startAgain(order, got);
  // What an earlier process left may be damaged.
  if (!isOurs) await transferAll(order, client, got);
  if (!isOurs && digestOf(got) === order.digest) return;
  await startAgain(order, got);
  throw invalidImage(`Layer ${order.layer} of the image differs from its digest.`);
}

const digestOf = ({ hash }: Got) => `sha256:${hash.digest('hex')}`;

async function transferAll(order: BlobOrder, client: RegistryClient, got: Got): Promise<void> {
  for (let tries = 1; got.bytes < order.size; tries++) {
    const before = got.bytes;
    const failure = await transfer(order, client, got).then(
      () => undefined,
      (error: unknown) => error,
    );
    order.signal.throwIfAborted();
    if (got.bytes === order.size) return;
    if (failure !== undefined && !isPassing(failure)) throw failure;
    if (got.bytes - before >= PROGRESS_BYTES) tries = 0;
    else if (tries === MOST_TRIES) throw failure ?? unavailable(client.what, 'ends its transfers early');
    else await order.clock.sleep(PAUSE_MS * 2 ** (tries - 1), order.signal);
  }
}

const isPassing = (error: unknown) => error instanceof ServiceError && error.code === 'unavailable';

/** What the file has from earlier transfers; nothing if that is more than the layer. */
async function hashOf({ file, size, onBytes, signal }: BlobOrder): Promise<Got> {
  const hash = createHash('sha256');
  const { size: there } = await file.stat();
  if (there > size) {
    await file.truncate(0);
    return { hash, bytes: 0 };
  }
  const buffer = Buffer.alloc(Math.min(READ_BYTES, there));
  for (let at = 0; at < there; ) {
    signal.throwIfAborted();
    const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, there - at), at);
    if (bytesRead === 0) throw new Error('a file of the image store became shorter');
    hash.update(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
  onBytes(there, 0);
  return { hash, bytes: there };
}

/** One transfer. It may end early without an error. */
async function transfer(order: BlobOrder, client: RegistryClient, got: Got): Promise<void> {
  const answer = await client.blob(order.digest, got.bytes, order.signal);
  if (!isContinued(answer, got.bytes, order.size)) await startAgain(order, got);
  if (answer.status === 416) {
    await discard(answer);
    throw unavailable(client.what, 'does not continue a transfer');
  }
  const left = order.size - got.bytes;
  const length = Number(answer.headers['content-length'] ?? left);
  if (length !== left) {
    await discard(answer);
    throw invalidImage(`Layer ${order.layer} of the image differs from the size in its manifest.`);
  }
  let pieces: Buffer[] = [];
  let bytes = 0;
  const put = async () => {
    const [whole, size] = [pieces, bytes];
    [pieces, bytes] = [[], 0];
    await append(order.file, whole, size);
    for (const piece of whole) got.hash.update(piece);
    got.bytes += size;
    order.onBytes(got.bytes, size);
  };
  try {
    for await (const piece of bodyOf(answer, left, order.signal)) {
      pieces.push(piece);
      bytes += piece.length;
      if (bytes >= WRITE_BYTES) await put();
    }
  } finally {
    if (bytes > 0) await put();
  }
}

/** A range that begins elsewhere is refused; other answers than a range begin at the start. */
function isContinued(answer: Answer, from: number, size: number): boolean {
  if (answer.status !== 206) return from === 0;
  const [, start, end, total] =
    /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(answer.headers['content-range'] ?? '') ?? [];
  const isRight =
    Number(start) === from && Number(end) === size - 1 && (total === '*' || Number(total) === size);
  if (!isRight) throw brokenReply(answer.what, 'answered with another range than was requested');
  return true;
}

async function startAgain({ file }: BlobOrder, got: Got): Promise<void> {
  await file.truncate(0);
  got.hash = createHash('sha256');
  got.bytes = 0;
}

async function append(file: FileHandle, pieces: readonly Buffer[], size: number): Promise<void> {
  try {
    const { bytesWritten } = await file.writev(pieces);
    // A disk that is nearly full takes a part.
    if (bytesWritten < size) await file.appendFile(Buffer.concat(pieces).subarray(bytesWritten));
  } catch (error) {
    throw asDiskFull(error);
  }
}
