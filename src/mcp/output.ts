// Results of tools, all with a bound: a model reads them in full.
import type { ExecLine, ExitLine } from '../client/exec-line.ts';
import { ServiceError } from '../domain/errors.ts';
import type { ErrorCode } from '../schema/error.ts';

export type Block = { type: 'text'; text: string } | { type: 'image'; data: string; mimeType: string };

/** A type, not an interface: the SDK wants results that may have more members. */
export type ToolResult = {
  content: Block[];
  /** The same as an object, for programs. */
  structuredContent?: Record<string, unknown>;
};

/** Characters of a text at most. */
export const MOST_TEXT = 64 * 1024;
/** Characters of each stream of a command: half from its begin, half from its end. */
export const MOST_STREAM = 16 * 1024;

export function textResult(text: string, structuredContent?: Record<string, unknown>): ToolResult {
  return {
    content: [{ type: 'text', text: cut(text) }],
    ...(structuredContent && text.length <= MOST_TEXT && { structuredContent }),
  };
}

/** A record as an object, and as JSON for hosts that show only text. */
export function recordResult(record: object): ToolResult {
  return textResult(JSON.stringify(record, null, 1), record as Record<string, unknown>);
}

/** `text` with at most MOST_TEXT characters, and a note if some are missing. */
export function cut(text: string): string {
  if (text.length <= MOST_TEXT) return text;
  const kept = text.slice(0, MOST_TEXT - 100);
  return `${kept}\n[${text.length - kept.length} more characters are not shown. Ask for less.]`;
}

/** The begin and the end of a text that arrives in pieces. */
export class HeadAndTail {
  readonly #most: number;
  #head = '';
  #tail = '';
  #length = 0;

  /** Keeps `most` characters. */
  constructor(most = MOST_STREAM) {
    this.#most = most;
  }

  add(piece: string): void {
    this.#length += piece.length;
    const room = Math.max(0, this.#most / 2 - this.#head.length);
    this.#head += piece.slice(0, room);
    this.#tail = (this.#tail + piece.slice(room)).slice(-this.#most / 2);
  }

  get text(): string {
    const missing = this.missing;
    const note = missing > 0 ? `\n[${missing} characters are not shown]\n` : '';
    return this.#head + note + this.#tail;
  }

  /** Characters that are not kept. */
  get missing(): number {
    return this.#length - this.#head.length - this.#tail.length;
  }
}

/** The output of a command, and its end if it has ended. */
export class CommandOutput {
  readonly stdout = new HeadAndTail();
  readonly stderr = new HeadAndTail();
  #end: ExitLine | undefined;

  /** Throws the failure of a command that the server lost. */
  take(line: ExecLine): void {
    if (line.stream === 'stdout' || line.stream === 'stderr') this[line.stream].add(line.data);
    else if (line.stream === 'exit') this.#end = line;
    else if (line.stream === 'error') throw new ServiceError(line.code as ErrorCode, line.message);
  }

  result(facts: Record<string, unknown> = {}): ToolResult {
    const record = {
      ...facts,
      ...this.#state(),
      stdout: this.stdout.text,
      stderr: this.stderr.text,
      truncated: this.stdout.missing + this.stderr.missing > 0,
    };
    const parts = [stateText(record)];
    if (record.stdout !== '') parts.push(`stdout:\n${record.stdout}`);
    if (record.stderr !== '') parts.push(`stderr:\n${record.stderr}`);
    if (record.truncated) parts.push('To see the rest, write the output to a file and read parts of it.');
    return textResult(parts.join('\n'), record);
  }

  #state() {
    if (!this.#end) return { state: 'running' };
    const { exit_code, signal, timed_out, duration_ms } = this.#end;
    return {
      state: 'exited',
      exit_code,
      ...(signal !== undefined && { signal }),
      ...(timed_out === true && { timed_out }),
      ...(duration_ms !== undefined && { duration_ms }),
    };
  }
}

function stateText(record: Record<string, unknown>): string {
  const names = ['sandbox_id', 'exec_id', 'state', 'exit_code', 'signal', 'timed_out', 'duration_ms'];
  return names
    .filter((name) => record[name] !== undefined)
    .map((name) => `${name}: ${String(record[name])}`)
    .join(', ');
}

/** What a model reads of a failure: code, message and remedy. Nothing of the cause. */
export function failureResult(error: ServiceError): ToolResult & { isError: true } {
  const remedy = error.remedy === undefined ? '' : ` ${error.remedy}`;
  return { ...textResult(`${error.code}: ${error.message}${remedy}`), isError: true };
}
