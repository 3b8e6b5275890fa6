// Requests to one engine over dockerode's modem, which always returns the raw reply because its own reading is unbounded.
// Calls share a few kept connections; long requests (attach, events, pull) have their own and delay no call.
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { addAbortSignal } from 'node:stream';
import { type Once, once } from '../../domain/once.ts';
import type { ContainerConfig } from '../../schema/config-container.ts';
import { type Endpoint, resolveEndpoint } from './endpoint.ts';
import {
  type ConnectionKind,
  type EngineReply,
  type EngineRequest,
  requireSuccess,
} from './engine-answers.ts';
import { EngineRefusal, engineLost, invalidEngineReply } from './engine-faults.ts';
import { type Modem, type Modems, openModems } from './modems.ts';

const EVERY_STATUS = Object.fromEntries(Array.from({ length: 900 }, (_, index) => [100 + index, true]));

interface DialOptions {
  connection: ConnectionKind;
  /** Ends the request and the rest of its reply. */
  signal: AbortSignal;
}

interface OpenEngine {
  endpoint: Endpoint;
  modems: Modems;
}

/** Reads the configured files on first use, and again after a failure. */
export class EngineConnection {
  readonly #open: Once<OpenEngine>;
  #isOpened = false;

  constructor(config: ContainerConfig) {
    this.#open = once(async () => {
      this.#isOpened = true;
      const endpoint = await resolveEndpoint(config);
      return { endpoint, modems: await openModems(endpoint) };
    });
  }

  async label(): Promise<string> {
    return (await this.#open()).endpoint.label;
  }

  close(): void {
    if (this.#isOpened)
      void this.#open().then(
        ({ modems }) => modems.close(),
        () => undefined,
      );
  }

  /** The head of the reply, whatever its status. Retries once if the engine has closed the kept connection. */
  async answer(order: EngineRequest, options: DialOptions): Promise<EngineReply> {
    const { endpoint, modems } = await this.#open();
    for (let isRetry = false; ; isRetry = true) {
      try {
        const answer = await dial(modems[options.connection], order, options.signal);
        if (answer instanceof IncomingMessage)
          return { message: addAbortSignal(options.signal, answer), label: endpoint.label };
        answer.destroy();
        throw new Error('unexpected upgrade');
      } catch (error) {
        options.signal.throwIfAborted();
        const isReset = (error as NodeJS.ErrnoException).code === 'ECONNRESET';
        if (!isReset || isRetry || order.method === 'POST') throw engineLost(endpoint.label, error);
      }
    }
  }

  async socket(order: EngineRequest, signal: AbortSignal): Promise<Socket> {
    const { endpoint, modems } = await this.#open();
    try {
      const answer = await dial(modems.own, order, signal, true);
      if (!(answer instanceof IncomingMessage)) return answer;
      await requireSuccess(order, { message: addAbortSignal(signal, answer), label: endpoint.label });
      answer.destroy();
      // A reply without an upgrade has no writable side.
      throw invalidEngineReply(`${order.what}: status ${answer.statusCode} instead of 101`, undefined);
    } catch (error) {
      signal.throwIfAborted();
      throw isOurs(error) ? error : engineLost(endpoint.label, error);
    }
  }
}

function dial(
  modem: Modem,
  { method, path, query, body }: EngineRequest,
  abortSignal: AbortSignal,
  hijack = false,
): Promise<IncomingMessage | Socket> {
  const isJson = !Buffer.isBuffer(body);
  const hasBody = method === 'POST' || method === 'PUT';
  return new Promise((resolve, reject) => {
    const options = {
      method,
      abortSignal,
      hijack,
      isStream: true,
      statusCodes: EVERY_STATUS,
      // The modem appends the query to a path that contains a question mark.
      ...(query ? { path: `${path}?`, options: query } : { path }),
      // A buffer has a length. Without one an attach is sent in chunks, and the last chunk could reach the agent.
      ...(hasBody && { file: isJson ? Buffer.from(body ? JSON.stringify(body) : '') : body }),
      headers: hasBody ? { 'Content-Type': isJson ? 'application/json' : 'application/x-tar' } : {},
    };
    modem.dial(options, (error, answer) => {
      if (answer instanceof IncomingMessage || answer instanceof Socket) resolve(answer);
      else reject(error);
    });
  });
}

function isOurs(error: unknown): boolean {
  return error instanceof EngineRefusal || (error instanceof Error && error.name === 'ServiceError');
}
