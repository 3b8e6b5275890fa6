// The memory that the byte ledger may give if the configuration leaves it open.

const MEBIBYTE = 1024 * 1024;
const LEAST = 8 * MEBIBYTE;
const MOST = 1024 * MEBIBYTE;
/** Held bytes multiply for a moment: a body is bytes, then text, then values. */
const HEAP_SHARE = 4;
/** Sandboxes, the database's cache and the rest of the machine need the remainder. */
const MEMORY_SHARE = 8;

export interface ProcessMemory {
  /** The maximum JavaScript heap. */
  heapBytes: number;
  /** The memory of the machine, or of the control group if that is less. */
  totalBytes: number;
}

/** Returns bytes: `configured`, or for 0 a quarter of the heap or an eighth of the memory, whichever is less. */
export function bufferLimit(configured: number, { heapBytes, totalBytes }: ProcessMemory): number {
  if (configured > 0) return configured;
  const derived = Math.min(heapBytes / HEAP_SHARE, totalBytes / MEMORY_SHARE, MOST);
  return Math.max(LEAST, Math.floor(derived));
}
