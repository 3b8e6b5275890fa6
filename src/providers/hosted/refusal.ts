// The body of an error as the library needs it: which error it is, without a word of who refused.

/** Of the protocol of the sandbox. https://connectrpc.com/docs/protocol/#error-codes */
const CODES = new Set([
  ...['canceled', 'unknown', 'invalid_argument', 'deadline_exceeded', 'not_found', 'already_exists'],
  ...['permission_denied', 'resource_exhausted', 'failed_precondition', 'aborted', 'out_of_range'],
  ...['unimplemented', 'internal', 'unavailable', 'data_loss', 'unauthenticated'],
]);

/** `told` is the body of the backend. */
export function refusalBody(status: number, told: unknown): { code: string | number; message: string } {
  const code = (told as { code?: unknown } | null | undefined)?.code;
  return { code: typeof code === 'string' && CODES.has(code) ? code : status, message: 'refused' };
}
