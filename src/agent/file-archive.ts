// Folders as one archive: the agent packs and unpacks them, so a copy of a thousand files is one stream. Unpacking continues
// past entries that cannot be made, and what is missing afterwards is a failure that names it.
import type { Readable } from 'node:stream';
import { ServiceError } from '../domain/errors.ts';
import { printable } from '../domain/printable.ts';
import { ERRNO, errnoError } from './errno.ts';
import { contentStream } from './file-read.ts';
import { sendContent } from './file-write.ts';
import type { FileRead, Unpacked } from './io.ts';
import type { Requests } from './requests.ts';
import { type WireReader, WireWriter } from './wire.ts';

const NOT_A_FOLDER = { [ERRNO.ENOTDIR]: 'The path is not a folder.' };

interface PackOrder {
  path: string;
  /** The path below it of the last entry that the caller has; '' to start at the beginning. */
  after: string;
}

/** As SandboxFiles.pack. */
export async function packFolder(
  requests: Requests,
  { path, after }: PackOrder,
  signal?: AbortSignal,
): Promise<FileRead> {
  const args = () => new WireWriter().str(path).str(after);
  const decode = (reader: WireReader) => reader.u64();
  const request = { args, channels: [0, 1], decode, words: NOT_A_FOLDER };
  return contentStream(requests, requests.open('pack', request, signal), {
    what: 'pack',
    most: Number.POSITIVE_INFINITY,
  });
}

/** As SandboxFiles.unpack. */
export async function unpackFolder(
  requests: Requests,
  { path, body }: { path: string; body: Readable },
  signal?: AbortSignal,
): Promise<Unpacked> {
  const args = () => new WireWriter().str(path);
  const stream = requests.open('unpack', { args, decode: readReport, words: NOT_A_FOLDER }, signal);
  const report = await sendContent(requests, stream, { what: 'unpack', body });
  if (report.errno === 0 && report.failed === 0) return report.done;
  throw incomplete(report);
}

interface Report {
  /** What ended the work before the end of the archive; 0: nothing did. */
  errno: number;
  done: Unpacked;
  failed: number;
  /** The first of them. */
  entries: { path: string; errno: number }[];
}

const LEFT_OUT = 1;

function readReport(reader: WireReader): Report {
  const errno = reader.u32();
  const bytes = reader.u64();
  const [files, folders, links] = [reader.u32(), reader.u32(), reader.u32()];
  const failed = reader.u32();
  const left_out = reader.u32();
  const entries: Report['entries'] = [];
  for (let left = reader.u32(); left > 0; left--) {
    const isFailed = reader.u8() !== LEFT_OUT;
    const entry = { errno: reader.u32(), path: reader.str() };
    if (isFailed) entries.push(entry);
  }
  return { errno, done: { files, folders, links, bytes, left_out }, failed, entries };
}

/** Says what was unpacked all the same, since the folder is now there in part. */
function incomplete({ errno, done, failed, entries }: Report): ServiceError {
  const [first] = entries;
  const cause = errno === 0 ? failureOf(first?.errno ?? 0) : endOf(errno);
  const { files, folders, links } = done;
  const count = files + folders + links;
  const what = errno === 0 ? `${failed} of ${count + failed} entries were not unpacked.` : cause.message;
  return new ServiceError(cause.code, `${what} ${count} entries were unpacked.`, {
    status: cause.status,
    cause,
    ...(cause.remedy !== undefined && { remedy: cause.remedy }),
    details: { archive_ended: errno === 0, ...done, failed_count: failed, failed: entries.map(named) },
  });
}

function named({ path, errno }: Report['entries'][number]) {
  const { code, message } = failureOf(errno);
  return { name: printable(path), code, message };
}

const ENTRY_WORDS = {
  [ERRNO.EINVAL]: 'Its path leads out of the folder.',
  [ERRNO.ENOTDIR]: 'A link or a file lies where the archive has a folder.',
  [ERRNO.EISDIR]: 'A folder has this name.',
  [ERRNO.EEXIST]: 'Something of another kind has this name.',
  [ERRNO.ENOENT]: 'The file that it links to is not in the folder.',
};

const failureOf = (errno: number) => errnoError(errno, 'an entry', ENTRY_WORDS);

function endOf(errno: number): ServiceError {
  if (errno === ERRNO.EBADMSG)
    return new ServiceError(
      'bad_request',
      'The archive is damaged, cut off, or in a format that is not supported.',
      { remedy: 'Send a plain tar archive, not a compressed one.' },
    );
  if (errno === ERRNO.E2BIG)
    return new ServiceError('payload_too_large', 'The archive has more than 1000000 entries.', {
      remedy: 'Send smaller archives.',
    });
  return errnoError(errno, 'unpacking');
}
