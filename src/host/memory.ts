// What this process may use of the machine's memory.
import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';

/** Bytes. The control group's limit counts where there is one. */
export function processMemory(): { heapBytes: number; totalBytes: number } {
  const total = totalmem();
  // 0, or a number beyond the machine's, where nothing limits it.
  const limit = process.constrainedMemory();
  const totalBytes = limit > 0 ? Math.min(limit, total) : total;
  return { heapBytes: getHeapStatistics().heap_size_limit, totalBytes };
}
