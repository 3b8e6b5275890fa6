// What the client uses of Node's own modules, for browsers. scripts/build-client.js replaces them by it, and makes `Buffer` known to
// all files.
import { Buffer as BrowserBuffer } from 'buffer/index.js';

export { BrowserBuffer as Buffer };

/** Whether these bytes are UTF-8. */
export function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** Resolves with the next turn of the event loop. */
export function setImmediate(): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, 0));
}

/** Seconds since the page was opened: a page does not know its machine. */
export const uptime = (): number => performance.now() / 1000;
