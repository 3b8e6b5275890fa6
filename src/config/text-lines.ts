// Positions in a text, as editors count them. The YAML library's own count leaves out line ends inside tokens where it
// expects none.

export class TextLines {
  /** Offsets at which lines begin. */
  readonly #starts: readonly number[];

  constructor(text: string) {
    const starts = [0];
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
    this.#starts = starts;
  }

  /** Both from 1. By halves: a long list may have a fault in each entry. */
  placeOf(offset: number): { line: number; column: number } {
    let [low, high] = [0, this.#starts.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((this.#starts[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    return { line: low + 1, column: offset - (this.#starts[low] ?? 0) + 1 };
  }
}
