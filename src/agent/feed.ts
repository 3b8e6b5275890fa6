// Moves what a stream receives into a Node Readable, no faster than it is read.
import type { Readable } from 'node:stream';
import type { Incoming } from './incoming.ts';

export interface FeedPlan {
  incoming: Incoming;
  /** Sees each piece first; a throw destroys the readable. */
  check?: (data: Buffer, channel: number) => void;
  /** Everything was handed on; ends or destroys the readable. */
  onEnd: (readable: Readable) => void;
}

/** The `read` function of `readable`: call it whenever more is wanted. */
export function feed(readable: Readable, plan: FeedPlan): void {
  const { incoming } = plan;
  for (let piece = incoming.take(); piece; piece = incoming.take()) {
    try {
      plan.check?.(piece.data, piece.channel);
    } catch (error) {
      readable.destroy(error as Error);
      return;
    }
    if (!readable.push(piece.data)) return;
  }
  if (incoming.isEnded) plan.onEnd(readable);
  else incoming.whenReadable(() => feed(readable, plan));
}
