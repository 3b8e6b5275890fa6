// What the client uses of undici, over the `fetch` of the runtime: for browsers, and for runtimes that do not run undici.
// scripts/build-client.js replaces undici by it there.
import { Readable } from 'node:stream';
import { ServiceError } from '../../domain/errors.ts';
import { realClock } from '../../host/clock.ts';

const clock = realClock();

export interface AgentOptions {
  /** A stream that is silent for so many ms fails. */
  bodyTimeout?: number;
}

interface FetchRequest {
  origin: string;
  path: string;
  method: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array | Readable | null;
  signal?: AbortSignal | null;
  /** Ms until the answer begins; 0: no limit. */
  headersTimeout?: number;
  opaque?: unknown;
}

interface FetchAnswer {
  statusCode: number;
  headers: Record<string, string | string[]>;
  body: Readable;
  opaque: unknown;
}

/** As undici names it, for the messages of failures. */
class HeadersTimeout extends Error {
  override name = 'HeadersTimeoutError';
  readonly code = 'UND_ERR_HEADERS_TIMEOUT';
}

class BodyTimeout extends Error {
  override name = 'BodyTimeoutError';
  readonly code = 'UND_ERR_BODY_TIMEOUT';
}

export class Agent {
  readonly #bodyTimeout: number;

  constructor({ bodyTimeout = 0 }: AgentOptions = {}) {
    this.#bodyTimeout = bodyTimeout;
  }

  /** The answer. Redirects are not followed. */
  async request(request: FetchRequest): Promise<FetchAnswer> {
    const { origin, path, method, headers = {}, signal, headersTimeout = 0, opaque } = request;
    const control = new AbortController();
    const abort = () => control.abort(signal?.reason);
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort, { once: true });
    const late =
      headersTimeout > 0 ? clock.after(headersTimeout, () => control.abort(new HeadersTimeout())) : undefined;
    try {
      const response = await fetch(origin + path, {
        method,
        headers,
        redirect: 'manual',
        signal: control.signal,
        ...(await bodyOf(request)),
      } as RequestInit);
      if (response.type === 'opaqueredirect')
        throw new ServiceError('not_implemented', 'A browser does not show redirects to programs.');
      const body = readableOf(response, control, this.#bodyTimeout);
      body.once('close', () => signal?.removeEventListener('abort', abort));
      return { statusCode: response.status, headers: headersOf(response), body, opaque };
    } catch (error) {
      signal?.removeEventListener('abort', abort);
      throw control.signal.aborted ? control.signal.reason : error;
    } finally {
      late?.cancel();
    }
  }

  /** The runtime keeps the connections. */
  async close(): Promise<void> {}
}

/** Browsers send a body only when its size is known, so a stream is read first. */
async function bodyOf({ body }: FetchRequest): Promise<{ body?: string | Uint8Array }> {
  if (body === undefined || body === null) return {};
  if (typeof body === 'string' || body instanceof Uint8Array) return { body };
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece as Uint8Array);
  return { body: Buffer.concat(pieces) };
}

function headersOf({ headers }: Response): Record<string, string | string[]> {
  return Object.fromEntries(headers as unknown as Iterable<[string, string]>);
}

function readableOf({ body }: Response, control: AbortController, silence: number): Readable {
  const reader = body?.getReader();
  return new Readable({
    read() {
      if (!reader) return void this.push(null);
      const late = silence > 0 ? clock.after(silence, () => this.destroy(new BodyTimeout())) : undefined;
      reader
        .read()
        .then(({ done, value }) => this.push(done ? null : Buffer.from(value)))
        .catch((error: unknown) =>
          this.destroy((control.signal.aborted ? control.signal.reason : error) as Error),
        )
        .finally(() => late?.cancel());
    },
    destroy(error, done) {
      control.abort(error);
      done(error);
    },
  });
}
