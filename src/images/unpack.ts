// Runs `svc-agent unpack`, which makes folders of archives in a process that can do nothing else.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '../domain/errors.ts';
import { freeing } from './freeing.ts';
import { STORE_UID } from './store-paths.ts';

const LONGEST_MS = 15 * 60_000;
const ENDED = ['EPIPE', 'ECONNRESET'];
const MOST_OUTPUT = 16 * 1024;

/** Limits of an image: of all its layers together. */
export interface UnpackLimits {
  /** Content. */
  maxBytes: number;
  maxEntries: number;
}

export interface UnpackOrder extends UnpackLimits {
  /** Path of svc-agent. */
  agent: string;
  /** Becomes the root of the program. */
  target: string;
  /** Gets the records. */
  records: string;
  /** `--merge`, the tree, and its layers, as paths in the target; nothing to unpack a tar. */
  merge?: readonly string[];
  signal: AbortSignal;
}

export interface UnpackCounts {
  entries: number;
  files: number;
  bytes: number;
  devices: number;
}

/** `source` is a plain tar, of chunks that nobody else uses. Returns what was made, and the digest of the bytes that were read. */
export async function unpackTar(
  order: UnpackOrder,
  source: Readable,
): Promise<{ counts: UnpackCounts; digest: string }> {
  const hash = createHash('sha256');
  const most = archiveLimit(order);
  let bytes = 0;
  const look = (chunk: Buffer) => {
    bytes += chunk.length;
    hash.update(chunk);
    if (bytes > most) throw tooLarge();
  };
  const counts = await runUnpack(order, (input) => pipeline(source, freeing(input, look)));
  return { counts, digest: `sha256:${hash.digest('hex')}` };
}

/** Headers and padding of as many entries, beside their content. */
const archiveLimit = ({ maxBytes, maxEntries }: UnpackLimits) => maxBytes + maxEntries * 4096;

export async function mergeLayers(order: UnpackOrder): Promise<void> {
  await runUnpack(order, (input) => pipeline(Readable.from([]), input));
}

/** Throws as `failed` says, what `feed` throws, and the signal's reason. */
async function runUnpack(
  order: UnpackOrder,
  feed: (input: Writable) => Promise<void>,
): Promise<UnpackCounts> {
  order.signal.throwIfAborted();
  const files = [await open(order.target, 'r'), await open(order.records, 'w', 0o644)];
  try {
    const child = spawn(order.agent, argumentsOf(order), {
      stdio: ['pipe', 'pipe', 'pipe', ...files.map(({ fd }) => fd)],
      cwd: '/',
      env: {},
      timeout: LONGEST_MS,
      killSignal: 'SIGKILL',
      signal: order.signal,
    });
    // Also when it is stopped: until then it writes into folders that the caller removes.
    const ended = new Promise<number | null>((resolve, reject) => {
      child.once('error', (error) => {
        if (child.pid === undefined) reject(error);
      });
      child.once('close', resolve);
    });
    const [out, words] = [collected(child.stdout as Readable), collected(child.stderr as Readable)];
    const fed = feed(child.stdin as Writable).then(
      () => undefined,
      (error: unknown) => {
        // When the program has ended, its exit status says why.
        if (!ENDED.includes(`${(error as NodeJS.ErrnoException).code}`)) child.kill('SIGKILL');
        return error;
      },
    );
    const code = await ended;
    const reason = await fed;
    order.signal.throwIfAborted();
    if (code !== 0 && code !== null && !(reason instanceof ServiceError)) throw failed(code, words());
    if (reason !== undefined) throw damaged(reason);
    if (code !== 0) throw failed(code, words());
    if (order.merge) return { entries: 0, files: 0, bytes: 0, devices: 0 };
    return JSON.parse(out()) as UnpackCounts;
  } finally {
    for (const file of files) await file.close();
  }
}

function argumentsOf({ maxBytes, maxEntries, merge }: UnpackOrder): string[] {
  const limits = ['--max-bytes', `${maxBytes}`, '--max-entries', `${maxEntries}`];
  const uid = process.getuid?.() === 0 ? ['--uid', `${STORE_UID}`] : [];
  return ['unpack', ...limits, ...uid, ...(merge ? ['--merge', ...merge] : [])];
}

function collected(stream: Readable): () => string {
  let text = '';
  stream.setEncoding('utf8').on('data', (part: string) => {
    if (text.length < MOST_OUTPUT) text += part;
  });
  return () => text;
}

/** Decompressors report damaged input in words of their own. */
function damaged(reason: unknown): unknown {
  if (reason instanceof ServiceError) return reason;
  return new ServiceError('provider_error', 'A layer of the image is damaged.', {
    cause: reason,
    remedy: 'Get the image again.',
  });
}

/** The meaning of exit statuses (agent/src/image/fault.h). The program's words hold no bytes of the archive. */
function failed(code: number | null, words: string): ServiceError {
  const reason = words.replace(/^svc-agent: /, '').trim();
  const cause = new Error(`svc-agent unpack ended with ${code}: ${reason}`);
  if (code === 3)
    return new ServiceError('provider_error', `A layer of the image was refused at ${reason}.`, {
      cause,
      remedy: 'Create the image again with another tool.',
    });
  if (code === 4) return tooLarge(cause);
  if (code === 5) return diskFull(cause);
  if (code === 6)
    return new ServiceError('unavailable', 'This host does not allow images to be unpacked safely.', {
      cause,
      remedy: 'Allow user namespaces for this user, or import the image as root.',
    });
  return new ServiceError('provider_error', 'Could not unpack the image.', {
    cause,
    remedy: 'Check the disk below images.path.',
  });
}

/** The error that a failed write to the store is for callers: `resource_limit` for a full disk, else itself. */
export function asDiskFull(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT' ? diskFull(error) : error;
}

function diskFull(cause: unknown): ServiceError {
  return new ServiceError('resource_limit', 'The disk does not have enough free space.', {
    cause,
    status: 507,
    remedy: 'Free disk space below images.path.',
  });
}

/** The image is larger than `UnpackLimits` allow. */
export function tooLarge(cause?: unknown): ServiceError {
  return new ServiceError('resource_limit', 'The image is larger than allowed.', {
    cause,
    status: 507,
    remedy: 'Use a smaller image, or raise images.max_image_bytes or images.max_entries.',
  });
}
