// Frees the memory of large chunks as soon as they are used. The garbage collector counts it, and would mark the entire heap
// after every few megabytes of an image: a third of the processor time of a pull.
import { Writable } from 'node:stream';

/** Smaller ones may share their memory with others. */
const LEAST_BYTES = 256 * 1024;
/** A closed port takes what is transferred to it, and keeps nothing. */
const { port1: nowhere } = new MessageChannel();
nowhere.close();

/**
 * Passes chunks on to `target`, and ends and fails with it. The memory of a chunk is freed when `target` has used it, so
 * nobody else may keep it. `look` sees each chunk first; what it throws fails the stream.
 */
export function freeing(target: Writable, look: (chunk: Buffer) => void = () => undefined): Writable {
  const passing = new Writable({
    write(chunk: Buffer, _, done) {
      try {
        look(chunk);
      } catch (error) {
        return done(error as Error);
      }
      target.write(chunk, (error) => {
        if (!error) free(chunk);
        done(error);
      });
    },
    final: (done) => void target.end(done),
    destroy(error, done) {
      if (error) target.destroy(error);
      done(error);
    },
  });
  target.once('error', (error) => passing.destroy(error));
  target.once('close', () => passing.destroy());
  return passing;
}

/** A decompressor fills a buffer by several chunks, and is done with it after the chunk at its end. */
function free({ buffer, byteOffset, byteLength }: Buffer): void {
  const isLast = byteOffset + byteLength === buffer.byteLength;
  if (isLast && buffer.byteLength >= LEAST_BYTES) nowhere.postMessage(undefined, [buffer as ArrayBuffer]);
}
