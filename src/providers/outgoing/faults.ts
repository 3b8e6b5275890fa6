// Failures of requests to configured URLs. Neither the message nor the logged cause contains text of the other side.
import { type ErrorFacts, ServiceError } from '../../domain/errors.ts';
import { JsonFault, type JsonReason } from '../../domain/json-structure.ts';
import type { ErrorCode } from '../../schema/error.ts';

/** A request without a usable reply. */
export class OutgoingFault extends ServiceError {
  /** False if the request was never sent, so it had no effect. */
  readonly sent: boolean;

  constructor(code: ErrorCode, message: string, facts: ErrorFacts & { sent: boolean }) {
    super(code, message, facts);
    this.sent = facts.sent;
  }
}

/** The address of the other side may not be reached. */
export class RefusedAddress extends OutgoingFault {}

/** The other side rejected our key, so the request had no effect. */
export class KeyRefused extends ServiceError {}

/** Whether the failed request certainly had no effect. */
export function hadNoEffect(error: unknown): boolean {
  return error instanceof KeyRefused || (error instanceof OutgoingFault && !error.sent);
}

type Words = readonly [code: 'unavailable' | 'provider_error', says: string, remedy: string];

const CHECK_URL = 'Check the configured URL.';
const AGAIN = 'Try again. If the error remains, check the service on its host.';
const NOT_HTTP: Words = ['provider_error', 'did not answer with HTTP', CHECK_URL];
const CLOSED: Words = ['unavailable', 'closed the connection before its response was complete', AGAIN];
const LATE: Words = ['unavailable', 'did not answer in time', AGAIN];
const UNPROVED: Words = [
  'unavailable',
  'did not present a trusted certificate',
  'Check its certificate and the configured URL.',
];
const UNREACHED: Words = ['unavailable', 'cannot be reached', 'Check that it runs, and the configured URL.'];

/** Keyed by the code of undici, Node or the kernel; undici's parser has no code and is keyed by its name. */
const KNOWN: Record<string, Words> = {
  UND_ERR_HEADERS_TIMEOUT: LATE,
  UND_ERR_BODY_TIMEOUT: LATE,
  UND_ERR_HEADERS_OVERFLOW: ['provider_error', 'sent response headers that are too large', CHECK_URL],
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: NOT_HTTP,
  HTTPParserError: NOT_HTTP,
};
const BAD_TLS = /^(?:ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)|^EPROTO$/;

/** A failure of the transport. `what` is the other side, as the subject of a sentence. */
export function transportFault(what: string, error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  const { code, connected } = factsOf(error);
  const [kind, says, remedy] = wordsFor(code, connected);
  return new OutgoingFault(kind, `${what} ${says}.`, { remedy, sent: connected, cause: new Error(code) });
}

function wordsFor(code: string, connected: boolean): Words {
  if (BAD_TLS.test(code)) return UNPROVED;
  if (!connected) return UNREACHED;
  return KNOWN[code] ?? CLOSED;
}

interface Thrown {
  code: string;
  name: string;
  syscall: string;
  errors: unknown[];
}

/** Errors while opening a connection, by identity: nothing was sent before them, whatever their code. */
const UNOPENED = new WeakSet<object>();

/** Records that `error` prevented a connection. */
export function markUnopened(error: object): void {
  UNOPENED.add(error);
}

/** Node gives an AggregateError when it tried several addresses; the first failure stands for all. */
function factsOf(error: unknown): { code: string; connected: boolean } {
  const { code, name: kind, syscall, errors } = (error ?? {}) as Partial<Thrown>;
  const isUnopened = typeof error === 'object' && error !== null && UNOPENED.has(error);
  if (errors?.length) {
    const first = factsOf(errors[0]);
    return { ...first, connected: first.connected && !isUnopened };
  }
  const name = String(code ?? kind).slice(0, 64);
  const isBefore = syscall === 'connect' || syscall === 'getaddrinfo' || name === 'UND_ERR_CONNECT_TIMEOUT';
  return { code: name, connected: !isBefore && !isUnopened };
}

/** A reply that breaks the protocol. `says` completes a sentence whose subject is `what`. */
export function invalidReply(what: string, says: string): OutgoingFault {
  return new OutgoingFault('provider_error', `${what} ${says}.`, {
    sent: true,
    remedy: 'Check the log of that service; svc does not pass on its messages.',
  });
}

const JSON_SAYS: Record<JsonReason, string> = {
  syntax: 'sent a response that is not JSON',
  surrogate: 'sent a response with invalid text',
  kind: 'sent a response that is not a list',
  size: 'sent a response that is too large',
  structure: 'sent a response with too much structure',
};

/** A JSON error as an invalid reply; any other error unchanged. */
export function orInvalidJson(what: string, error: unknown): unknown {
  return error instanceof JsonFault ? invalidReply(what, JSON_SAYS[error.reason]) : error;
}

export function tooLate(what: string): OutgoingFault {
  const [code, says, remedy] = LATE;
  return new OutgoingFault(code, `${what} ${says}.`, { remedy, sent: true });
}

export function refusedAddress(what: string, fault: string): RefusedAddress {
  return new RefusedAddress('provider_error', `${what} was not contacted: its address is ${fault}.`, {
    sent: false,
    remedy:
      'Configure a URL that leads directly to the service. A loopback address must be configured as such.',
  });
}
