// The client library, loaded with the first call: loading it takes as long as starting a server. Only its documented API is
// used, and every option that it could read from the environment is set here.

import { KeptErrors, translated } from './errors.ts';
import { type LoopbackProxy, type LoopbackProxyOptions, openLoopbackProxy } from './loopback-proxy.ts';

type E2b = typeof import('e2b');

export interface CallOptions {
  apiKey: string;
  apiUrl: string;
  sandboxUrl: string;
  domain: string;
  debug: false;
  validateApiKey: false;
  retries: 0;
  requestTimeoutMs: number;
}

export class Library {
  readonly #options: Omit<LoopbackProxyOptions, 'faults'> & { apiKey: string };
  readonly #faults = new KeptErrors();
  #loaded: Promise<{ e2b: E2b; proxy: LoopbackProxy }> | undefined;

  constructor(options: Omit<LoopbackProxyOptions, 'faults'> & { apiKey: string }) {
    this.#options = options;
  }

  /** Runs a library call and translates its failure. */
  async run<T>(work: (e2b: E2b, options: CallOptions) => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    try {
      this.#loaded ??= this.#load();
      const { e2b, proxy } = await this.#loaded;
      return await work(e2b, this.#callOptions(proxy));
    } catch (error) {
      throw this.translated(error, signal);
    }
  }

  translated(error: unknown, signal?: AbortSignal): unknown {
    return translated(this.#faults, error, signal);
  }

  async close(): Promise<void> {
    const loaded = await this.#loaded?.catch(() => undefined);
    await loaded?.proxy.close();
  }

  async #load() {
    const [e2b, proxy] = await Promise.all([
      import('e2b'),
      openLoopbackProxy({ ...this.#options, faults: this.#faults }),
    ]);
    return { e2b, proxy };
  }

  #callOptions({ apiUrl, sandboxUrl }: LoopbackProxy): CallOptions {
    const { apiKey, timeoutMs } = this.#options;
    return {
      apiKey,
      apiUrl,
      sandboxUrl,
      domain: 'sandbox.invalid',
      requestTimeoutMs: timeoutMs,
      debug: false,
      validateApiKey: false,
      retries: 0,
    };
  }
}
