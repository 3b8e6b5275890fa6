// Judges a failed statement: whether it happened, whether a repetition helps, and the error for callers.
import type { DatabaseHost } from '../../domain/database-address.ts';
import { ServiceError } from '../../domain/errors.ts';
import { EXISTS, errorOf, FULL, type Meaning, storeClosed, UNEXPECTED } from '../failures.ts';

/**
 * - `refused`: it certainly did not happen; it may be repeated.
 * - `unknown`: it was sent, and nobody knows whether it happened.
 * - `final`: the server answered; a repetition would get the same answer.
 */
export type Outcome = 'refused' | 'unknown' | 'final';

/** `now`: after a pause; `elsewhere`: after another search for the primary; `never`: the caller decides. */
export type Repeat = 'now' | 'elsewhere' | 'never';

/** The failure of one statement. It never leaves this folder: `error` does. */
export class StatementFailure extends Error {
  readonly outcome: Outcome;
  readonly repeat: Repeat;
  readonly error: ServiceError;
  /** SQLSTATE (postgresql.org/docs/current/errcodes-appendix.html); empty without an answer of the server. */
  readonly sqlState: string;

  constructor(outcome: Outcome, repeat: Repeat, error: ServiceError) {
    super(error.message, { cause: error.cause });
    this.name = 'StatementFailure';
    this.outcome = outcome;
    this.repeat = repeat;
    this.error = error;
    this.sqlState = sqlStateOf(error.cause);
  }
}

const DOWN: Meaning = {
  code: 'unavailable',
  message: 'The database cannot be reached.',
  remedy: 'Try again. If the error persists, check the database hosts and the network.',
  retryAfterMs: 1000,
};
const NO_PRIMARY: Meaning = {
  code: 'unavailable',
  message: 'No host of database.url is a writable primary.',
  remedy: 'Try again. If the error persists, check which server is the primary, and list it in database.url.',
  retryAfterMs: 1000,
};
const UNCONFIRMED: Meaning = {
  code: 'unavailable',
  message: 'The database did not confirm the operation; it may have happened.',
  remedy: 'Check the result, then try again. If the error persists, check the database and its standbys.',
  retryAfterMs: 1000,
};
const SLOW: Meaning = {
  code: 'unavailable',
  message: 'The database took too long and cancelled the operation.',
  remedy: 'Nothing was written. Try again. If the error persists, check the load of the database.',
  retryAfterMs: 1000,
};
const CROWDED: Meaning = {
  code: 'unavailable',
  message: 'Too many operations wait for the database.',
  remedy: 'Nothing was written. Try again. If the error persists, check the load of the database.',
  retryAfterMs: 1000,
};
const CONTENDED: Meaning = {
  code: 'unavailable',
  message: 'Too many operations change the same records.',
  remedy: 'Try again.',
  retryAfterMs: 1000,
};
const DENIED: Meaning = {
  code: 'unavailable',
  message: 'The database refused the user of database.url.',
  remedy: 'Check user, password and database name of the URL, and pg_hba.conf of the server.',
};
const RIGHTS: Meaning = {
  code: 'unavailable',
  message: 'The user of database.url lacks a right in the database.',
  remedy: 'Make the user the owner of the schema, or grant the right that the log names.',
};
const NO_SCHEMA: Meaning = {
  code: 'unavailable',
  message: 'No schema of the search_path of the user of database.url exists.',
  remedy: 'Create the schema, or name one that exists: ALTER ROLE … SET search_path = public.',
};
const POOLED: Meaning = {
  code: 'unavailable',
  message: 'The database does not keep prepared statements, as behind a pooler in transaction mode.',
  remedy: 'Set database.prepare to false, or connect to PostgreSQL directly.',
};

/** "Does not exist" and "already exists" of prepared statements. */
const LOST_PREPARED = ['26000', '42P05'];

/** Matched by the prefix of the SQLSTATE of an answer; the first match counts. */
const ANSWERS: readonly (readonly [prefix: string, Outcome, Repeat, Meaning])[] = [
  ['40001', 'refused', 'now', CONTENDED],
  ['40P01', 'refused', 'now', CONTENDED],
  ['55P03', 'refused', 'now', CONTENDED],
  ['25006', 'refused', 'elsewhere', DOWN],
  ['57P03', 'refused', 'elsewhere', DOWN],
  ['57014', 'refused', 'never', SLOW],
  ['53100', 'refused', 'never', FULL],
  // The server has no free connection or memory.
  ['53', 'refused', 'elsewhere', DOWN],
  ['28', 'final', 'never', DENIED],
  ['3D000', 'final', 'never', DENIED],
  ['42501', 'final', 'never', RIGHTS],
  ['3F000', 'final', 'never', NO_SCHEMA],
  ['23', 'final', 'never', EXISTS],
  ...LOST_PREPARED.map((state) => [state, 'final', 'never', POOLED] as const),
];

export const isPooled = ({ sqlState }: StatementFailure): boolean => LOST_PREPARED.includes(sqlState);

/** The server ended the connection: what ran at that moment may have been committed. */
const ENDED = /^(?:57P0[1245]|08|25P03)/;

/** The failure of a statement that was sent. */
export function statementFailure(error: unknown): StatementFailure {
  const state = sqlStateOf(error);
  const isAnswer = state !== '' && severityOf(error) === 'ERROR';
  if (!isAnswer || ENDED.test(state)) return failure('unknown', 'now', UNCONFIRMED, error);
  const [, outcome, repeat, meaning] = ANSWERS.find(([prefix]) => state.startsWith(prefix)) ?? [
    '',
    'final',
    'never',
    UNEXPECTED,
  ];
  return failure(outcome, repeat, meaning, error);
}

/** The host accepts connections, but no writes. */
export class NotPrimary extends Error {}

/** No host of the URL accepted a connection for writing. */
export class NoHost extends Error {
  /** The hosts in the order of the URL, each with the reason. */
  readonly hosts: readonly { host: DatabaseHost; reason: unknown }[];

  constructor(hosts: NoHost['hosts']) {
    super('No host of database.url is a writable primary.');
    this.hosts = hosts;
  }
}

/** The failure of a connection on which nothing was sent yet. */
export function dialFailure(error: unknown): StatementFailure {
  if (error instanceof StatementFailure) return error;
  // The file of sslrootcert.
  if (error instanceof ServiceError) return new StatementFailure('refused', 'elsewhere', error);
  if (error instanceof NotPrimary) return failure('refused', 'elsewhere', NO_PRIMARY, error);
  const state = sqlStateOf(error);
  const isDenied = state.startsWith('28') || state === '3D000' || isWithoutPassword(error);
  return failure('refused', 'elsewhere', isDenied ? DENIED : DOWN, error);
}

/** Nothing was sent, because no connection became free. */
export const crowded = () => failure('refused', 'never', CROWDED, undefined);

export const stopping = () => new StatementFailure('refused', 'never', storeClosed());

/** The connection ended before the statement was sent. */
export const disconnected = () => failure('refused', 'elsewhere', DOWN, undefined);

/**
 * The failure of a write whose earlier attempt got no answer: also if the last attempt was refused, that one may have happened.
 */
export const unconfirmed = (last: StatementFailure): StatementFailure =>
  last.outcome === 'refused' ? failure('unknown', last.repeat, UNCONFIRMED, last.error.cause) : last;

export const contended = () => failure('refused', 'never', CONTENDED, undefined).error;

/** Returns what callers get: ServiceErrors as they are. */
export function callerError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  if (error instanceof StatementFailure) return error.error;
  return errorOf(UNEXPECTED, error);
}

/** The error of a read: nobody needs to check whether it happened. */
export function unanswered(error: unknown): ServiceError {
  const isUnknown = error instanceof StatementFailure && error.outcome === 'unknown';
  return isUnknown ? failure('unknown', 'now', DOWN, error.error.cause).error : callerError(error);
}

/** The failure of a search in which each host failed as in `failures`. */
export function searchFailure(
  hosts: readonly { host: DatabaseHost; failure: StatementFailure }[],
): StatementFailure {
  const failures = hosts.map(({ failure }) => failure);
  const cause = new NoHost(hosts.map(({ host, failure }) => ({ host, reason: failure.error.cause })));
  // What only an operator can change says more than a host that is away; a standby shows that the network works.
  const { error } =
    failures.find((each) => each.error.retryAfterMs === undefined) ??
    failures.find((each) => each.error.cause instanceof NotPrimary) ??
    failures[0]!;
  const { code, message, remedy, retryAfterMs } = error;
  return failure('refused', 'elsewhere', { code, message, remedy, retryAfterMs }, cause);
}

function failure(outcome: Outcome, repeat: Repeat, meaning: Meaning, cause: unknown): StatementFailure {
  return new StatementFailure(outcome, repeat, errorOf(meaning, cause));
}

/** A SASL exchange without a password fails before anything is sent. */
const isWithoutPassword = (error: unknown) => error instanceof Error && /^SASL:/.test(error.message);

function sqlStateOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && severityOf(error) !== '' ? code : '';
}

function severityOf(error: unknown): string {
  const severity = error instanceof Error && 'severity' in error ? error.severity : undefined;
  return typeof severity === 'string' ? severity : '';
}
