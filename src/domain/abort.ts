// What code needs of a signal that only has to find out about an abort.

export type AbortListener = (() => void) | { handleEvent(): void };

/** An AbortSignal, or what stands for one at a smaller price. */
export interface Abort {
  readonly aborted: boolean;
  readonly reason: unknown;
  throwIfAborted(): void;
  addEventListener(type: 'abort', listener: AbortListener, options?: { once?: boolean }): void;
  removeEventListener(type: 'abort', listener: AbortListener): void;
}
