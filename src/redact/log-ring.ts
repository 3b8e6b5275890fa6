// The newest log lines, for diagnostics: redacted, and bounded by number and size.

const MOST_LINES = 1000;
const MOST_CHARACTERS = 1024 * 1024;
/** A longer line keeps only its message. */
const LONGEST = 16 * 1024;

type LogFields = Record<string, unknown>;

export class LogRing {
  readonly #lines: string[] = [];
  #size = 0;

  /** One line of the JSON log. */
  push(line: string): void {
    const kept = line.length <= LONGEST ? line : shortened(line);
    this.#lines.push(kept);
    this.#size += kept.length;
    while (this.#lines.length > MOST_LINES || this.#size > MOST_CHARACTERS)
      this.#size -= this.#lines.shift()?.length ?? 0;
  }

  /** Oldest first. */
  lines(): LogFields[] {
    return this.#lines.map((line) => JSON.parse(line) as LogFields);
  }
}

function shortened(line: string): string {
  const { level, time, message } = JSON.parse(line) as LogFields;
  return JSON.stringify({ level, time, message: String(message).slice(0, LONGEST / 2), cut: line.length });
}
