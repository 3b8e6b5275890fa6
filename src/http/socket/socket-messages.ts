// From what a WebSocket client sends to messages: strict, typed, and every refusal says what was wrong.
import { ServiceError } from '../../domain/errors.ts';
import { judgedJson } from '../../domain/json-reading.ts';
import { JsonFault } from '../../domain/json-structure.ts';
import { SOCKET_MESSAGES, SocketAttach, type SocketMessage, SocketStart } from '../../schema/exec-socket.ts';
import { type Validator, validator } from '../../schema/validator.ts';
import { strictBase64 } from '../body/base64.ts';
import { refuseHalfPairs } from '../body/well-formed.ts';
import type { SocketFrame } from './socket-input.ts';

type Stdin = { type: 'stdin'; data: Buffer };
export type Received = Stdin | Exclude<SocketMessage, { type: 'stdin' }>;

/** As of a body: building this much takes some milliseconds. */
const STRUCTURE = { depth: 64, tokens: 50_000 };
const checkStart = validator(SocketStart, 'The message');
const checkAttach = validator(SocketAttach, 'The message');
const CHECKS = Object.fromEntries(
  Object.entries(SOCKET_MESSAGES).map(([type, schema]) => [type, validator(schema, 'The message')]),
) as Record<string, Validator>;

/** Throws `bad_request` for anything but a message of type start or attach. */
export function readStart(frame: SocketFrame): SocketStart | SocketAttach {
  const value = readJson(frame);
  if (value.type === 'attach') {
    demand(checkAttach(value));
    return sized(value as SocketAttach);
  }
  if (value.type !== 'start') throw bad('The first message must be of type start or attach.');
  demand(checkStart(value));
  const start = value as SocketStart;
  if (start.keep && start.detach) throw bad('keep and detach exclude each other.');
  if (start.tty !== true && (start.cols !== undefined || start.rows !== undefined))
    throw bad('cols and rows require tty true.');
  return start;
}

/** A size has two sides. */
function sized(attach: SocketAttach): SocketAttach {
  if ((attach.cols === undefined) !== (attach.rows === undefined)) throw bad('cols and rows go together.');
  return attach;
}

/** A message after the start; binary ones are standard input. */
export function readMessage(frame: SocketFrame): Received {
  if (frame.isBinary) return { type: 'stdin', data: frame.data };
  const value = readJson(frame);
  const check = typeof value.type === 'string' && Object.hasOwn(CHECKS, value.type) && CHECKS[value.type];
  if (!check) throw bad(`The message must be of type ${Object.keys(CHECKS).join(', ')}.`);
  demand(check(value));
  const message = value as SocketMessage;
  if (message.type !== 'stdin') return message;
  const { data, encoding } = message;
  return { type: 'stdin', data: encoding === 'base64' ? strictBase64(data, 'data') : Buffer.from(data) };
}

function readJson({ data, isBinary }: SocketFrame): { type?: unknown } {
  if (isBinary) throw bad('The first message must be text.');
  const text = data.toString('utf8');
  let value: unknown;
  try {
    value = judgedJson(data, STRUCTURE);
  } catch (cause) {
    if (cause instanceof JsonFault && cause.reason === 'structure')
      throw bad('The message has too many values or is nested too deeply.');
    throw bad('The message is not valid JSON.', cause);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw bad('The message is not a JSON object.');
  // A terminal may cut its input between two halves: what is typed is bytes, and half a character becomes U+FFFD.
  if ((value as { type?: unknown }).type !== 'stdin') refuseHalfPairs(text, value);
  return value;
}

function demand(problem: string | undefined): void {
  if (problem !== undefined) throw bad(problem);
}

function bad(message: string, cause?: unknown): ServiceError {
  return new ServiceError('bad_request', message, cause === undefined ? {} : { cause });
}
