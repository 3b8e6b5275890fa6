// The terminal of `svc top`: another screen while it runs, only lines that differ are written, and everything is restored at its end.
import type { Frame } from './frame.ts';
import { keysOf } from './keys.ts';

const ENTER = '\x1b[?1049h\x1b[?25l';
const LEAVE = '\x1b[?25h\x1b[?1049l';
const [BEGIN, END] = ['\x1b[?2026h', '\x1b[?2026l'];
const [INVERSE, PLAIN] = ['\x1b[7m', '\x1b[27m'];

export class Screen {
  readonly #input: NodeJS.ReadStream = process.stdin;
  readonly #onKey: (key: string) => void;
  readonly #onResize: () => void;
  #lines: readonly string[] = [];
  #isOpen = false;

  /** Calls `onKey` with the name of each key, and `onResize` when the terminal has another size. */
  constructor(onKey: (key: string) => void, onResize: () => void) {
    this.#onKey = onKey;
    this.#onResize = onResize;
  }

  /** Also after `close`: then all is drawn again. */
  open(): void {
    this.#isOpen = true;
    this.#lines = [];
    process.stdout.write(ENTER);
    if (this.#input.isTTY) {
      this.#input.setRawMode(true);
      this.#input.setEncoding('utf8');
      this.#input.on('data', this.#read).resume();
    }
    process.stdout.on('resize', this.#resized);
    process.once('exit', this.#leave);
  }

  get size(): { columns: number; rows: number } {
    const { columns = 80, rows = 24 } = process.stdout;
    return { columns, rows };
  }

  /** Skipped while the terminal is still busy with an earlier picture. */
  draw({ lines, marked }: Frame): void {
    if (!this.#isOpen || process.stdout.writableNeedDrain) return;
    const shown = lines.map((line, at) => (at === marked ? `${INVERSE}${line}${PLAIN}` : line));
    const most = Math.max(shown.length, this.#lines.length);
    const changed = Array.from({ length: most }, (_, at) =>
      shown[at] === this.#lines[at] ? '' : `\x1b[${at + 1};1H${shown[at] ?? ''}\x1b[K`,
    );
    this.#lines = shown;
    process.stdout.write(BEGIN + changed.join('') + END);
  }

  /** Idempotent. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    process.off('exit', this.#leave);
    process.stdout.off('resize', this.#resized);
    process.stdout.write(LEAVE);
    this.#input.off('data', this.#read);
    if (this.#input.isTTY) this.#input.setRawMode(false);
    this.#input.pause();
  }

  readonly #leave = () => this.close();
  readonly #read = (text: string) => keysOf(text).forEach(this.#onKey);
  readonly #resized = () => {
    this.#lines = [];
    this.#onResize();
  };
}
