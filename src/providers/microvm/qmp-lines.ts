// The lines of a monitor as messages. A guest that has taken over its monitor writes them: each has a bound, and what is
// no object of one of the four kinds ends the connection.
import { judgedJson, ONE_THING } from '../../domain/json-reading.ts';
import { monitorGarbled } from './qmp-faults.ts';

/** Far above the longest answer to a command of ours. */
const MAX_LINE = 256 * 1024;

export type QmpMessage =
  | { kind: 'greeting' }
  | { kind: 'event'; name: string; fields: Record<string, unknown> }
  | { kind: 'answer'; id: number; value: unknown }
  | { kind: 'refusal'; id: number; words: string };

/** Takes chunks as they come and gives the messages that are whole. Throws `provider_error` for what is none. */
export class QmpLines {
  #rest: Buffer[] = [];
  #size = 0;

  take(chunk: Buffer): QmpMessage[] {
    const messages: QmpMessage[] = [];
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      this.#keep(chunk.subarray(from, end));
      messages.push(parseMessage(Buffer.concat(this.#rest)));
      this.#rest = [];
      this.#size = 0;
      from = end + 1;
    }
    this.#keep(chunk.subarray(from));
    return messages;
  }

  #keep(piece: Buffer): void {
    this.#size += piece.length;
    if (this.#size > MAX_LINE) throw monitorGarbled('a line without an end');
    if (piece.length > 0) this.#rest.push(piece);
  }
}

function parseMessage(line: Buffer): QmpMessage {
  const message = parsed(line);
  if (message.QMP !== undefined) return { kind: 'greeting' };
  if (typeof message.event === 'string')
    return { kind: 'event', name: message.event, fields: fieldsOf(message.data) };
  const id = typeof message.id === 'number' ? message.id : -1;
  if ('return' in message) return { kind: 'answer', id, value: message.return };
  if ('error' in message) return { kind: 'refusal', id, words: wordsOf(fieldsOf(message.error)) };
  throw monitorGarbled('a message of no known kind');
}

function parsed(line: Buffer): Record<string, unknown> {
  try {
    const value = judgedJson(line, ONE_THING);
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch (error) {
    throw monitorGarbled('a line is no JSON', error);
  }
  throw monitorGarbled('a line is no object');
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function wordsOf({ class: name, desc }: Record<string, unknown>): string {
  return `${typeof name === 'string' ? name : 'unknown'}: ${typeof desc === 'string' ? desc : ''}`;
}
