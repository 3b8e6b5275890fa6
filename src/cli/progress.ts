// One line on a terminal that shows the progress of a copy or of a task; nothing anywhere else.
import { sizeText } from './render.ts';

const WIDTH = 24;
const EVERY_MS = 100;
const CLEAR_LINE = '\r\x1b[K';

export interface Progress {
  /** Sets the expected number of bytes. */
  total(bytes: number): void;
  moved(bytes: number): void;
  /** Removes the line. */
  end(): void;
}

interface Terminal {
  isTTY?: boolean;
  columns?: number;
  write(text: string): unknown;
}

/** Cut to one line of the terminal: only one can be cleared. */
function lineOn({ columns }: Terminal, text: string): string {
  return `${CLEAR_LINE}${text.slice(0, (columns || 80) - 1)}`;
}

/** The same, which knows the most bytes that it has shown. */
export function countedOn(progress: Progress): Progress & { most(): number } {
  let [now, most] = [0, 0];
  const moved = (bytes: number) => {
    now += bytes;
    most = Math.max(most, now);
    progress.moved(bytes);
  };
  return { ...progress, moved, most: () => most };
}

/** `now` in ms. Silent without a terminal. */
export function progressOn(terminal: Terminal, now: () => number): Progress {
  if (terminal.isTTY !== true) return { total: () => {}, moved: () => {}, end: () => {} };
  const start = now();
  const state = { total: 0, moved: 0 };
  let drawn = Number.NEGATIVE_INFINITY;
  const draw = () => {
    const at = now();
    if (at - drawn < EVERY_MS) return;
    drawn = at;
    terminal.write(lineOn(terminal, barText({ ...state, ms: at - start })));
  };
  return {
    total: (bytes) => {
      state.total = bytes;
      draw();
    },
    moved: (bytes) => {
      state.moved += bytes;
      draw();
    },
    end: () => void terminal.write(CLEAR_LINE),
  };
}

/** `[####----]  50%  5.0 MiB of 10.0 MiB  2.5 MiB/s`; without a known total only bytes and speed. */
export function barText({ total, moved, ms }: { total: number; moved: number; ms: number }): string {
  const speed = speedText(moved, ms);
  if (total <= 0) return `${sizeText(moved)}  ${speed}`;
  const share = Math.min(1, moved / total);
  const filled = Math.floor(share * WIDTH);
  const bar = `[${'#'.repeat(filled)}${'-'.repeat(WIDTH - filled)}]`;
  const percent = `${Math.floor(share * 100)}%`.padStart(4);
  return `${bar} ${percent}  ${sizeText(moved)} of ${sizeText(total)}  ${speed}`;
}

export function speedText(bytes: number, ms: number): string {
  return `${sizeText(Math.round((bytes * 1000) / Math.max(1, ms)))}/s`;
}

export type StageUnit = 'bytes' | 'rows';

export interface StageLine {
  /** New `words` start a stage; `done` and `total` are bytes or rows, if known. */
  show(
    words: string,
    amount?: { done?: number | undefined; total?: number | undefined; unit?: StageUnit },
  ): void;
  /** Removes the line. */
  end(): void;
}

/** `now` in ms. Silent without a terminal. */
export function stageLineOn(terminal: Terminal, now: () => number): StageLine {
  if (terminal.isTTY !== true) return { show: () => {}, end: () => {} };
  const start = now();
  let current = '';
  let drawn = Number.NEGATIVE_INFINITY;
  return {
    show: (words, amount = {}) => {
      const at = now();
      if (words === current && at - drawn < EVERY_MS) return;
      current = words;
      drawn = at;
      terminal.write(lineOn(terminal, stageText({ words, ...amount, ms: at - start })));
    },
    end: () => void terminal.write(CLEAR_LINE),
  };
}

/** `Copying …  50%  5.0 MiB of 10.0 MiB  3 s` */
export function stageText(stage: {
  words: string;
  done?: number | undefined;
  total?: number | undefined;
  unit?: StageUnit;
  ms: number;
}): string {
  const { words, done, total, unit, ms } = stage;
  const seconds = `${Math.floor(ms / 1000)} s`;
  if (done === undefined || !total) return `${words} …  ${seconds}`;
  const percent = `${Math.floor((Math.min(done, total) / total) * 100)}%`.padStart(4);
  const [moved, all] = unit === 'rows' ? [done, `${total} rows`] : [sizeText(done), sizeText(total)];
  return `${words} … ${percent}  ${moved} of ${all}  ${seconds}`;
}
