// A connection that changes to another protocol (RFC 9110 7.8). A reply other than 101 is a refusal with its text, bounded.
import type { Duplex } from 'node:stream';
import type { Dispatcher } from 'undici';

const MAX_REFUSAL_BYTES = 64 * 1024;

export interface UpgradeRequest {
  path: string;
  headers: Record<string, string>;
  /** The name of the other protocol. */
  protocol: string;
  /** Between the request and the reply. */
  idleMs: number;
}

/** The stream, with what followed the reply still in it; or the reply of one that stays with HTTP. */
export type Upgraded = { stream: Duplex } | { status: number; text: string };

/** Rejects with the failure of the transport, or the reason of `signal`; nothing is left open then. */
export function upgradeConnection(
  pool: Pick<Dispatcher, 'dispatch'>,
  { path, headers, protocol, idleMs }: UpgradeRequest,
  signal: AbortSignal,
): Promise<Upgraded> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let size = 0;
    let status = 0;
    let stop: ((reason: Error) => void) | undefined;
    const abort = () => {
      stop?.(signal.reason);
      reject(signal.reason);
    };
    const settled =
      <T>(settle: (value: T) => void) =>
      (value: T) => {
        signal.removeEventListener('abort', abort);
        settle(value);
      };
    const done = settled(resolve);
    const failed = settled(reject);
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    const ask = {
      method: 'GET',
      path,
      headers,
      upgrade: protocol,
      headersTimeout: idleMs,
      bodyTimeout: idleMs,
    };
    pool.dispatch(ask as Dispatcher.DispatchOptions, {
      onRequestStart: (controller) => {
        stop = (reason) => controller.abort(reason);
        if (signal.aborted) controller.abort(signal.reason);
      },
      onRequestUpgrade: (_controller, _status, replied, stream) => {
        const isOurs = replied.upgrade?.toString().toLowerCase() === protocol;
        if (isOurs && !signal.aborted) return done({ stream });
        stream.destroy();
        failed(new Error('the reply changes to another protocol'));
      },
      onResponseStart: (_controller, code) => {
        status = code;
      },
      onResponseData: (controller, chunk) => {
        parts.push(chunk);
        size += chunk.length;
        if (size > MAX_REFUSAL_BYTES) controller.abort(new Error('the refusal is too large'));
      },
      onResponseEnd: () => done({ status, text: Buffer.concat(parts).toString() }),
      onResponseError: (_controller, error) => failed(error),
    });
  });
}
