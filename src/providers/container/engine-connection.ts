// Requests to one engine, and what their failures mean.
// Calls share a few kept connections; long requests (attach, events, pull) have their own and delay no call.
import { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { addAbortSignal } from 'node:stream';
import { type Once, once } from '../../domain/once.ts';
import type { ContainerConfig } from '../../schema/config-container.ts';
import { type Endpoint, resolveEndpoint } from './endpoint.ts';
import { type EngineReply, type EngineRequest, requireSuccess } from './engine-answers.ts';
import { EngineRefusal, engineLost, invalidEngineReply } from './engine-faults.ts';
import { type DialOptions, type EngineRequests, engineRequests } from './engine-requests.ts';

interface OpenEngine {
  endpoint: Endpoint;
  requests: EngineRequests;
}

/** Reads the configured files on first use, and again after a failure. */
export class EngineConnection {
  readonly #open: Once<OpenEngine>;
  #isOpened = false;

  constructor(config: ContainerConfig) {
    this.#open = once(async () => {
      this.#isOpened = true;
      const endpoint = await resolveEndpoint(config);
      return { endpoint, requests: engineRequests(endpoint) };
    });
  }

  async label(): Promise<string> {
    return (await this.#open()).endpoint.label;
  }

  close(): void {
    if (this.#isOpened)
      void this.#open().then(
        ({ requests }) => requests.close(),
        () => undefined,
      );
  }

  /** The head of the reply, whatever its status. Retries once if the engine has closed the kept connection. */
  async answer(order: EngineRequest, options: Omit<DialOptions, 'upgrades'>): Promise<EngineReply> {
    const { endpoint, requests } = await this.#open();
    for (let isRetry = false; ; isRetry = true) {
      try {
        const answer = await requests.dial(order, options);
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
    const { endpoint, requests } = await this.#open();
    try {
      const answer = await requests.dial(order, { connection: 'own', signal, upgrades: true });
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

function isOurs(error: unknown): boolean {
  return error instanceof EngineRefusal || (error instanceof Error && error.name === 'ServiceError');
}
