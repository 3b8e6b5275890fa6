// The end of what an agent said on its standard error, kept for the log line of a failure. Memory is bounded whatever
// comes; nothing of it reaches a caller.
const KEPT = 4096;

export class Diagnostics {
  #text = '';

  add(bytes: Buffer): void {
    this.#text = (this.#text + bytes.subarray(-KEPT).toString('latin1')).slice(-KEPT);
  }

  /** The last 4 KiB. */
  tail(): string {
    return this.#text;
  }
}
