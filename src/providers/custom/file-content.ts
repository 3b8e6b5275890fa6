// Reads a file from the backend. A range is requested by its HTTP header, and cut here if the backend sends the entire file.
import { Readable } from 'node:stream';
import type { FileRead } from '../../agent/io.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { FileInfo } from '../../schema/file.ts';
import { cut } from '../backends/files.ts';
import { invalidReply } from '../outgoing/faults.ts';
import type { Reply } from '../outgoing/reply.ts';
import { CUSTOM_BACKEND } from './backend.ts';
import type { FileCall } from './file-call.ts';

export interface Range {
  offset: number;
  length?: number;
}

/** Implements SandboxFiles.read; `info` describes the path itself, even if it is a link. */
export async function readContent(call: FileCall, info: FileInfo, range: Range): Promise<FileRead> {
  if (info.is_dir) throw new ServiceError('bad_request', 'The path is a folder.');
  const reply = await askRange(call, range);
  const read = { ...info, ...(info.type === 'symlink' && { type: 'file' as const }) };
  if (!reply) return { info: { ...read, size: range.offset }, content: Readable.from([]) };
  if (reply.status === 206 && !startsAt(range.offset, reply)) {
    await reply.discard();
    throw invalidReply(CUSTOM_BACKEND, 'sent another part of the file');
  }
  const size = sizeOf(reply) ?? info.size;
  const offset = reply.status === 206 ? 0 : range.offset;
  const pieces = Readable.from(cut(reply.body(), { offset, length: range.length }), { objectMode: false });
  // An error without a listener would end the process.
  return { info: { ...read, size }, content: pieces.on('error', () => undefined) };
}

/** Undefined if the file ends before the range. An HTTP range is never empty, so at least one byte is requested. */
async function askRange(call: FileCall, { offset, length }: Range): Promise<Reply | undefined> {
  const isComplete = offset === 0 && length === undefined;
  const last = length === undefined ? '' : offset + Math.max(length, 1) - 1;
  try {
    return await call.stream({
      method: 'GET',
      path: '/files',
      maxBytes: Number.MAX_SAFE_INTEGER,
      ...(!isComplete && { headers: { range: `bytes=${offset}-${last}` } }),
      means: { 416: ['precondition_failed', 'The range lies outside of the file.'] },
    });
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'precondition_failed') return undefined;
    throw error;
  }
}

function startsAt(offset: number, { headers }: Reply): boolean {
  const [, first] = /^bytes (\d{1,15})-/.exec(headers['content-range'] ?? '') ?? [];
  return first === undefined || Number(first) === offset;
}

/** The size of the entire file. */
function sizeOf({ status, headers }: Reply): number | undefined {
  const text =
    status === 206 ? /\/(\d{1,15})$/.exec(headers['content-range'] ?? '')?.[1] : headers['content-length'];
  return text === undefined || !/^\d{1,15}$/.test(text) ? undefined : Number(text);
}
