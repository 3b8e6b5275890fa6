// Linux error numbers of the agent in our words. The agent's own text is never shown: it comes from inside a sandbox.
import { type ErrorFacts, ServiceError } from '../domain/errors.ts';
import type { ErrorCode } from '../schema/error.ts';

export const ERRNO = {
  EPERM: 1,
  ENOENT: 2,
  ESRCH: 3,
  ENXIO: 6,
  E2BIG: 7,
  EAGAIN: 11,
  EACCES: 13,
  EBUSY: 16,
  EEXIST: 17,
  ENOTDIR: 20,
  EISDIR: 21,
  EINVAL: 22,
  EFBIG: 27,
  ENOSPC: 28,
  EROFS: 30,
  ENAMETOOLONG: 36,
  ENOTEMPTY: 39,
  ELOOP: 40,
  EBADMSG: 74,
  EUSERS: 87,
  ECONNREFUSED: 111,
  EDQUOT: 122,
  ECANCELED: 125,
} as const;

type Row = [code: ErrorCode, message: string, facts?: ErrorFacts];

const FULL: Row = [
  'resource_limit',
  'The disk of the sandbox is full.',
  { status: 507, remedy: 'Remove files in the sandbox.' },
];
const FORBIDDEN: Row = ['forbidden', 'The sandbox does not permit this.'];

const TABLE: Record<number, Row> = {
  [ERRNO.EPERM]: FORBIDDEN,
  [ERRNO.EACCES]: FORBIDDEN,
  [ERRNO.EROFS]: [
    'forbidden',
    'This part of the sandbox is read-only.',
    { remedy: 'Use /workspace or /tmp.' },
  ],
  [ERRNO.ENOENT]: ['not_found', 'There is nothing at this path in the sandbox.'],
  [ERRNO.ESRCH]: ['not_found', 'There is no such process in the sandbox.'],
  [ERRNO.ENXIO]: ['bad_request', 'The path is a pipe, socket or device that nothing serves.'],
  [ERRNO.E2BIG]: ['bad_request', 'Arguments and environment are too long.'],
  [ERRNO.EAGAIN]: [
    'resource_limit',
    'The sandbox cannot run another operation now.',
    { remedy: 'Wait until another operation ends.' },
  ],
  [ERRNO.EBUSY]: ['conflict', 'The path is in use in the sandbox.'],
  [ERRNO.EEXIST]: ['conflict', 'The path exists already.'],
  [ERRNO.ENOTEMPTY]: ['conflict', 'The folder is not empty.', { remedy: 'Remove it with recursive.' }],
  [ERRNO.ENOTDIR]: ['bad_request', 'A part of the path is not a folder.'],
  [ERRNO.EISDIR]: ['bad_request', 'The path is a folder.'],
  [ERRNO.EINVAL]: ['bad_request', 'The sandbox cannot do this with this path or value.'],
  [ERRNO.ENAMETOOLONG]: ['bad_request', 'The path is too long.'],
  [ERRNO.ELOOP]: ['bad_request', 'The path has too many links.'],
  [ERRNO.EFBIG]: ['resource_limit', 'The file is over the size limit of the sandbox.', { status: 507 }],
  [ERRNO.ENOSPC]: FULL,
  [ERRNO.EDQUOT]: FULL,
  [ERRNO.EUSERS]: ['bad_request', 'The sandbox has no user of this name.'],
  [ERRNO.ECONNREFUSED]: [
    'unavailable',
    'Nothing listens on this port in the sandbox.',
    { status: 502, remedy: 'Start the program first.' },
  ],
  [ERRNO.ECANCELED]: ['unavailable', 'The operation was cancelled.'],
};

/** Messages that fit one operation better than the table's, by error number. */
export type ErrnoWords = Partial<Record<number, string>>;

/** The failure of error number `errno`; unknown numbers are `provider_error`. `text` is kept as the cause, for the log. */
export function errnoError(errno: number, text: string, words: ErrnoWords = {}): ServiceError {
  const [code, message, facts] = TABLE[errno] ?? ['provider_error', 'The sandbox could not do this.'];
  const cause = new Error(`errno ${errno}: ${text.slice(0, 200)}`);
  return new ServiceError(code, words[errno] ?? message, { ...facts, cause });
}
