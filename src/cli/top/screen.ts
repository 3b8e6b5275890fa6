// The terminal of `svc top`: another screen while it runs, only lines that differ are written, and everything is restored at its end.

const ENTER = '\x1b[?1049h\x1b[?25l';
const LEAVE = '\x1b[?25h\x1b[?1049l';
const [BEGIN, END] = ['\x1b[?2026h', '\x1b[?2026l'];

export class Screen {
  readonly #input: NodeJS.ReadStream = process.stdin;
  #lines: readonly string[] = [];
  #isOpen = false;
  readonly #leave = () => this.close();

  /** Calls `onKey` with each character, and `onResize` when the terminal has another size. */
  open(onKey: (key: string) => void, onResize: () => void): void {
    this.#isOpen = true;
    process.stdout.write(ENTER);
    if (this.#input.isTTY) {
      this.#input.setRawMode(true);
      this.#input.setEncoding('utf8');
      this.#input.on('data', (keys: string) => [...keys].forEach(onKey));
      this.#input.resume();
    }
    process.stdout.on('resize', () => {
      this.#lines = [];
      onResize();
    });
    process.once('exit', this.#leave);
  }

  get size(): { columns: number; rows: number } {
    const { columns = 80, rows = 24 } = process.stdout;
    return { columns, rows };
  }

  /** Skipped while the terminal is still busy with an earlier picture. */
  draw(lines: readonly string[]): void {
    if (!this.#isOpen || process.stdout.writableNeedDrain) return;
    const most = Math.max(lines.length, this.#lines.length);
    const changed = Array.from({ length: most }, (_, at) =>
      lines[at] === this.#lines[at] ? '' : `\x1b[${at + 1};1H${lines[at] ?? ''}\x1b[K`,
    );
    this.#lines = lines;
    process.stdout.write(BEGIN + changed.join('') + END);
  }

  /** Idempotent. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    process.off('exit', this.#leave);
    process.stdout.write(LEAVE);
    if (this.#input.isTTY) this.#input.setRawMode(false);
    this.#input.pause();
  }
}
