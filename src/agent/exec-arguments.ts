// The arguments of an exec on the wire, refused here when the kernel could not take them.
import { ServiceError } from '../domain/errors.ts';
import type { ExecSpec } from './io.ts';
import { EXEC_FLAG } from './protocol.ts';
import { WireWriter } from './wire.ts';

/** MAX_ARG_STRLEN of the kernel, which counts the closing NUL. */
const ONE_ARGUMENT_MAX = 128 * 1024 - 1;
/** A label is for people; the command itself may be far longer. */
const LABEL_MAX = 1024;

/** Throws `bad_request` for an empty or too long argument list, NUL characters, and names that no environment can hold. */
export function execArguments(spec: ExecSpec): WireWriter {
  if (!spec.argv[0]) throw refused('The command is empty.');
  const writer = new WireWriter()
    .u32(flags(spec))
    .str(spec.exec_id)
    .str(checked(spec.workdir ?? '', 'The workdir'));
  writer
    .u32(timeout(spec.timeoutMs))
    .u16(spec.pty?.rows ?? 0)
    .u16(spec.pty?.cols ?? 0)
    .str(spec.label.slice(0, LABEL_MAX));
  writer.u32(spec.argv.length);
  for (const argument of spec.argv) writer.str(checked(argument, 'An argument'));
  const env = Object.entries(spec.env);
  writer.u32(env.length);
  for (const [name, value] of env) writer.str(checked(entry(name, value), 'An environment entry'));
  if (spec.body !== undefined) writer.str(spec.body);
  return spec.keep === undefined ? writer : writer.str(checked(spec.keep, 'The note'));
}

function flags(spec: ExecSpec): number {
  const { pty, detach, stdin, body, keep } = spec;
  const set = { pty, detach, stdin, keyed: body !== undefined, keep: keep !== undefined };
  return Object.entries(EXEC_FLAG).reduce(
    (all, [name, flag]) => (set[name as keyof typeof set] ? all | flag : all),
    0,
  );
}

/** 0 is "none" on the wire, so a deadline of less than a millisecond is one; longer than 49 days is as good as none. */
function timeout(ms = 0): number {
  return ms > 0 ? Math.min(Math.max(1, Math.round(ms)), 0xffff_ffff) : 0;
}

function entry(name: string, value: string): string {
  if (name === '' || name.includes('=')) throw refused('An environment name is empty or has an equals sign.');
  return `${name}=${value}`;
}

function checked(text: string, what: string): string {
  if (text.includes('\0')) throw refused(`${what} holds a NUL character.`);
  if (Buffer.byteLength(text) > ONE_ARGUMENT_MAX)
    throw refused(`${what} is over 128 KiB.`, 'Send long input as stdin or a file.');
  return text;
}

function refused(message: string, remedy?: string): ServiceError {
  return new ServiceError('bad_request', message, remedy ? { remedy } : {});
}
