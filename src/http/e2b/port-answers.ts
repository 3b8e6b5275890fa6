// Why a port of a sandbox cannot be reached, as programs for E2B read it, and as a page for people. Only on the listener that is
// theirs: elsewhere previews answer in our own words.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { asServiceError, type ServiceError } from '../../domain/errors.ts';
import type { FailedVisit } from '../previews/gateway.ts';
import { sandboxGone } from './answers.ts';
import { isByListener } from './tls-listener.ts';

const SAFE = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'",
};
const BROWSER = /^Mozilla\//;
const GATEWAY = 502;

/** False, and nothing is done, for a request that came elsewhere. */
export function answerPortFailure(
  raw: IncomingMessage,
  response: ServerResponse,
  { target, failure }: FailedVisit,
): boolean {
  if (!isByListener(raw.socket) || target === 'strange') return false;
  const { sandbox_id: sandboxId, port } = target;
  const { status, message } = failure;
  const isClosed = status === GATEWAY && !isGone(failure);
  const send = (body: string, type: string) => {
    for (const name of response.getHeaderNames()) response.removeHeader(name);
    response.writeHead(status, { ...SAFE, 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) });
    response.end(body);
  };
  if (isClosed && BROWSER.test(raw.headers['user-agent'] ?? ''))
    send(closedPage(port), 'text/html; charset=utf-8');
  else if (isClosed)
    send(
      JSON.stringify({
        sandboxId,
        message: 'The sandbox is running but port is not open',
        port,
        code: status,
      }),
      'application/json',
    );
  else if (status === GATEWAY) send(JSON.stringify(sandboxGone(sandboxId).body), 'application/json');
  else send(JSON.stringify({ sandboxId, message, code: status }), 'application/json');
  return true;
}

const isGone = ({ cause }: ServiceError) => asServiceError(cause).code === 'not_found';

const closedPage = (port: number) =>
  `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Closed Port Error</title></head>
<body><h1>Nothing listens on port ${port} of this sandbox</h1></body></html>
`;
