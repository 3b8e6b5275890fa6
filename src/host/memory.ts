// What this process may use of the machine's memory.
import { totalmem } from 'node:os';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';

/** Bytes. The control group's limit counts where there is one. */
export function processMemory(): { heapBytes: number; totalBytes: number } {
  const total = totalmem();
  // 0, or a number beyond the machine's, where nothing limits it.
  const limit = process.constrainedMemory();
  const totalBytes = limit > 0 ? Math.min(limit, total) : total;
  return { heapBytes: getHeapStatistics().heap_size_limit, totalBytes };
}

/**
 * Lets the heap grow to two and a half times what a full collection leaves before the next one begins. To be called once the start is
 * over. V8 counts the buffers of streams, of which it drops 32 MB at a time, as growth of the heap. Its own limit can be so near, by
 * chance of the first collection, that every 16 MB of a stream begin another full one, as long as the process runs: output then takes
 * three times the processor time.
 */
export function roomForBuffers(): void {
  setFlagsFromString('--heap-growing-percent=150');
}
