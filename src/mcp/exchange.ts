// MCP over HTTP: one request, one answer, no session. The tools call our API through a connection within the process, with the
// keys of the request, so that authorization, quotas, rate limits and the audit are those of the API.
import { createMcpHandler } from '@modelcontextprotocol/server';
import { Client } from '../client/client.ts';
import type { PipedOptions } from '../client/connection.ts';
import type { Clock, Logger } from '../domain/ports.ts';
import type { McpExchange } from '../http/mcp/exchange.ts';
import { NO_SESSION } from './session.ts';
import { toolServer } from './tool-server.ts';

interface ExchangeDeps {
  version: string;
  clock: Pick<Clock, 'after'>;
  logger: Logger;
}

/** Bytes of an answer of the API at most; part of what an exchange holds on the account of its caller. */
const MOST_JSON = 1024 * 1024;

/** Names this machine, which every server takes. */
const OWN_NAME = 'http://svc.localhost';

/** Resolves with the answer to one request. Holds nothing once `exchange.ended` has aborted. */
export async function serveExchange(exchange: McpExchange, deps: ExchangeDeps): Promise<Response> {
  const { profile, request, body, ended } = exchange;
  const client = clientOf(exchange);
  ended.addEventListener('abort', () => void client.close(), { once: true });
  const onFault = (err: Error) =>
    deps.logger.error({ request_id: exchange.requestId, err }, 'A tool of MCP failed.');
  const factory = () => toolServer({ ...deps, profile, client, session: NO_SESSION, signal: ended, onFault });
  // Nothing that tools list ever changes, so there is nothing to subscribe to.
  const handler = createMcpHandler(factory, { maxSubscriptions: 0 });
  return handler.fetch(request, { parsedBody: body });
}

function clientOf({ keys, forwarded, connect }: McpExchange): Client {
  const options: PipedOptions = {
    server: OWN_NAME,
    ...(keys.api !== undefined && { apiKey: keys.api }),
    ...(keys.admin !== undefined && { adminKey: keys.admin }),
    // The model reads when to try again, and the host does not wait.
    retry: false,
    maxJsonBytes: MOST_JSON,
    headers: forwarded,
    // Not at once: undici does not expect an answer within its own call.
    connect: (_options, opened) => queueMicrotask(() => opened(null, connect() as never)),
  };
  return new Client(options);
}
