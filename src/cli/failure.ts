// Turns any error into a ServiceError, and prints it as text for people or as JSON.
import { type ErrorHint, ServiceError } from '../domain/errors.ts';
import { printable, printableLines } from '../domain/printable.ts';
import { redactor } from '../redact/engine.ts';
import { paintFor } from './paint.ts';
import { print } from './print.ts';

const LONGEST_DETAIL = 400;

/** A ServiceError as it is, a usage error for an error of the parser, otherwise `internal`. */
export function asFailure(error: unknown): ServiceError {
  if (error instanceof ServiceError) return withOwnRemedy(error);
  const { message, oclif } = error as Error & { oclif?: object };
  if (oclif !== undefined) return usageFailure(error as Error);
  return new ServiceError('internal', `Unexpected error: ${message ?? String(error)}`, { cause: error });
}

/** For an error of the parser, which puts its reasons on lines of their own after a tab. */
export function usageFailure(error: Error): ServiceError {
  const [text = ''] = error.message.replaceAll(/ ?\n\t/g, ': ').split('\nSee more help');
  return new ServiceError('bad_request', text, { remedy: 'See --help.', cause: error });
}

/** Remedies for a person at a command line, instead of those for programs. */
const REMEDIES: Readonly<Record<ErrorHint, string>> = {
  api_key: 'Set SVC_API_KEY, or name a file with --api-key-file. Admin commands need the admin key.',
  server_address: 'Start the server with `svc serve`, or name its address with --server or SVC_SERVER.',
};

function withOwnRemedy(failure: ServiceError): ServiceError {
  const { code, message, hint, details, cause } = failure;
  if (hint === undefined) return failure;
  return new ServiceError(code, message, { remedy: REMEDIES[hint], cause, ...(details && { details }) });
}

/** Prints it for a person; with DEBUG set also where its cause comes from. */
export function printFailure(failure: ServiceError): void {
  print(failureText(failure), process.stderr);
  if (process.env.DEBUG && failure.cause instanceof Error) print(failure.cause.stack ?? '', process.stderr);
}

/** The message, details, remedy, and the request id of the server, on several lines. */
export function failureText(failure: ServiceError, stream: { isTTY?: boolean } = process.stderr): string {
  const paint = paintFor(stream);
  const { request_id, ...details } = failure.details ?? {};
  const lines = [
    `${paint.red.bold('Error:')} ${indented(failure.message)}`,
    ...Object.entries(details).flatMap(([name, value]) => detailLines(name, value)),
    ...(failure.remedy === undefined ? [] : [`${paint.bold('Try:')} ${indented(failure.remedy)}`]),
    ...(typeof request_id === 'string' ? [paint.dim(`Request id: ${printable(request_id)}`)] : []),
  ];
  return clean(lines.join('\n'));
}

/** Indents further lines, so that none of them looks like a line of svc. */
const indented = (text: string) => printableLines(text).replaceAll('\n', '\n  ');

/** `{error: {code, message, remedy?, request_id?, details?}}`, as documented for `--json`. */
export function failureJson(failure: ServiceError): { error: Record<string, unknown> } {
  const { request_id, ...details } = failure.details ?? {};
  const body = {
    code: failure.code,
    message: clean(failure.message),
    remedy: failure.remedy,
    request_id,
    details: Object.keys(details).length === 0 ? undefined : cleanValue(details),
  };
  return { error: Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined)) };
}

/** One line for each entry of a list; an entry is shown by its `message`, if any. */
function detailLines(name: string, value: unknown): string[] {
  if (Array.isArray(value)) return value.map((entry) => `  - ${short(wordsOf(entry))}`);
  return [`  ${printable(name)}: ${short(wordsOf(value))}`];
}

function wordsOf(value: unknown): string {
  if (typeof value === 'string') return value;
  const message = (value as { message?: unknown } | null)?.message;
  return typeof message === 'string' ? message : (JSON.stringify(value) ?? '');
}

function short(text: string): string {
  return printable(text.length > LONGEST_DETAIL ? `${text.slice(0, LONGEST_DETAIL)}…` : text);
}

const { text: clean, value: cleanValue } = redactor({ secrets: [] });
