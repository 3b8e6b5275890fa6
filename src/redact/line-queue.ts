// Lines on their way to a slow reader: bounded, in order, one write at a time. What does not fit is dropped and counted,
// and the count is told as soon as there is room; the service never waits for its log.

/** Writes text; resolves when it is taken, rejects when the reader is gone for good. */
export type LineSink = (text: string) => Promise<void>;

export interface LineQueue {
  push(line: string): void;
  /** Resolves when everything is written or the sink failed. */
  drained(): Promise<void>;
}

const MAX_WAITING = 1024 * 1024;
const MAX_WRITE = 64 * 1024;

interface Options {
  sink: LineSink;
  /** The line that tells of `count` dropped ones. */
  announce(count: number): string;
  /** Characters that may wait. */
  maxWaiting?: number;
}

export function lineQueue({ sink, announce, maxWaiting = MAX_WAITING }: Options): LineQueue {
  let waiting: string[] = [];
  let size = 0;
  let dropped = 0;
  let writing: Promise<void> | undefined;
  let gone = false;

  const take = (): string => {
    let count = 0;
    for (let length = 0; count < waiting.length && length < MAX_WRITE; count++)
      length += waiting[count]?.length ?? 0;
    const text = waiting.slice(0, count).join('');
    waiting = waiting.slice(count);
    size -= text.length;
    return text;
  };
  const writeAll = async () => {
    while (waiting.length > 0 && !gone) {
      await sink(take()).catch(() => {
        gone = true;
      });
      if (dropped > 0 && waiting.length === 0) add(announce(flush()));
    }
    writing = undefined;
  };
  const flush = () => {
    const count = dropped;
    dropped = 0;
    return count;
  };
  const add = (line: string) => {
    waiting.push(line);
    size += line.length;
  };
  return {
    push: (line) => {
      if (gone) return;
      if (size + line.length > maxWaiting) dropped += 1;
      else add(line);
      writing ??= writeAll();
    },
    drained: async () => {
      while (writing) await writing;
    },
  };
}
