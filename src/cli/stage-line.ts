// One line on a terminal that tells what a task is doing, for how long, and how far it is; nothing anywhere else.
import { sizeText } from './render.ts';

const EVERY_MS = 100;
const CLEAR_LINE = '\r\x1b[K';

export interface StageLine {
  /** `words` begin a stage; bytes, where they are known, show how far it is. */
  show(words: string, done?: number, total?: number): void;
  /** Takes the line away. */
  end(): void;
}

interface Terminal {
  isTTY?: boolean;
  write(text: string): unknown;
}

/** `now` in ms. Silent unless `terminal` is one. */
export function stageLineOn(terminal: Terminal, now: () => number): StageLine {
  if (terminal.isTTY !== true) return { show: () => {}, end: () => {} };
  const start = now();
  let current = '';
  let drawn = Number.NEGATIVE_INFINITY;
  return {
    show: (words, done, total) => {
      const at = now();
      if (words === current && at - drawn < EVERY_MS) return;
      current = words;
      drawn = at;
      terminal.write(`${CLEAR_LINE}${stageText({ words, done, total, ms: at - start })}`);
    },
    end: () => void terminal.write(CLEAR_LINE),
  };
}

/** `Copying …  50%  5.0 MiB of 10.0 MiB  3 s` */
export function stageText(stage: {
  words: string;
  done?: number | undefined;
  total?: number | undefined;
  ms: number;
}): string {
  const { words, done, total, ms } = stage;
  const seconds = `${Math.floor(ms / 1000)} s`;
  if (done === undefined || !total) return `${words} …  ${seconds}`;
  const percent = `${Math.floor((Math.min(done, total) / total) * 100)}%`.padStart(4);
  return `${words} … ${percent}  ${sizeText(done)} of ${sizeText(total)}  ${seconds}`;
}
