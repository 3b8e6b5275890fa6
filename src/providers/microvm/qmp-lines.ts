// Messages of a QEMU monitor. A guest that has taken over its monitor can write them: each line has a bound, and an
// unknown message ends the connection.
import { LineSplitter } from '../../domain/byte-lines.ts';
import { type JsonLineFormat, jsonLine, objectLine } from '../../domain/json-lines.ts';
import { ONE_THING } from '../../domain/json-reading.ts';
import { monitorGarbled } from './qmp-faults.ts';

const FORMAT: JsonLineFormat<Record<string, unknown>> = {
  /** Far above the longest answer to a command of ours. */
  bytes: 256 * 1024,
  structure: ONE_THING,
  tooLong: () => monitorGarbled('a line without an end'),
  read: objectLine,
  invalid: (cause) => monitorGarbled('a line is not an object', cause),
};

export type QmpMessage =
  | { kind: 'greeting' }
  | { kind: 'event'; name: string; fields: Record<string, unknown> }
  | { kind: 'answer'; id: number; value: unknown }
  | { kind: 'refusal'; id: number; words: string };

/** Takes chunks as they come and returns the complete messages. Throws `provider_error` for an invalid one. */
export class QmpLines {
  readonly #lines = new LineSplitter(FORMAT);

  take(chunk: Buffer): QmpMessage[] {
    return [...this.#lines.take(chunk)].map(parseMessage);
  }
}

function parseMessage(line: Buffer): QmpMessage {
  const message = jsonLine(line, FORMAT);
  if (message.QMP !== undefined) return { kind: 'greeting' };
  if (typeof message.event === 'string')
    return { kind: 'event', name: message.event, fields: fieldsOf(message.data) };
  const id = typeof message.id === 'number' ? message.id : -1;
  if ('return' in message) return { kind: 'answer', id, value: message.return };
  if ('error' in message) return { kind: 'refusal', id, words: wordsOf(fieldsOf(message.error)) };
  throw monitorGarbled('an unknown kind of message');
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function wordsOf({ class: name, desc }: Record<string, unknown>): string {
  return `${typeof name === 'string' ? name : 'unknown'}: ${typeof desc === 'string' ? desc : ''}`;
}
