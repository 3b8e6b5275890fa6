// Requests about the files of one sandbox, and the meaning of statuses for files.
import type { Backend, BackendRequest, StatusMeanings } from './backend.ts';

const MEANS: StatusMeanings = {
  400: ['bad_request', 'The sandbox cannot do this with the path.'],
  403: ['forbidden', 'The sandbox is not allowed to do this with the path.'],
  404: ['not_found', 'There is no such file in the sandbox.'],
  409: ['conflict', 'The path already exists, or the folder is not empty.'],
  410: ['unavailable', 'The custom backend no longer has the sandbox.'],
  413: ['payload_too_large', 'The file is larger than the custom backend accepts.'],
  507: ['resource_limit', 'The disk of the sandbox is full.', { status: 507 }],
};

export type FileCall = Pick<Backend, 'request' | 'stream'>;

export interface FilesContext {
  backend: Backend;
  runtime_id: string;
  /** Aborts at the end of the session. */
  end: AbortSignal;
}

/** Requests for the sandbox, and for `path` where it is given. */
export function fileCall(
  { backend, runtime_id, end }: FilesContext,
  path: string | undefined,
  signal: AbortSignal | undefined,
): FileCall {
  const filled = (call: BackendRequest): BackendRequest => ({
    ...call,
    query: { sandbox_id: runtime_id, path, ...call.query },
    signal: signal ? AbortSignal.any([end, signal]) : end,
    means: { ...MEANS, ...call.means },
  });
  return { request: (call) => backend.request(filled(call)), stream: (call) => backend.stream(filled(call)) };
}
