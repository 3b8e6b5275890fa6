// What a visitor gets instead of a preview: a page for people, our JSON for programs. Nothing on it comes from the request.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ServiceError } from '../../domain/errors.ts';
import { FAILED_HEADER } from '../../domain/preview.ts';
import { errorAnswer } from '../errors.ts';

const SAFE = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'",
};

interface FailureAnswer {
  failure: ServiceError;
  request_id: string;
  /** A program that named the port in a header: JSON, and a header that tells it from an answer of the sandbox. */
  isForCaller?: boolean;
}

/** Answers with `failure`; headers set on the response before are removed. The response must not have started. */
export function answerFailure(
  raw: IncomingMessage,
  response: ServerResponse,
  { failure, request_id, isForCaller = false }: FailureAnswer,
): void {
  const { status, headers, body } = errorAnswer(failure, request_id);
  const isForPeople = !isForCaller && raw.headers.accept?.includes('text/html') === true;
  const text = isForPeople ? page(status, body.message, request_id) : JSON.stringify(body);
  const type = isForPeople ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8';
  for (const name of response.getHeaderNames()) response.removeHeader(name);
  response.writeHead(status, {
    ...headers,
    ...SAFE,
    ...(isForCaller && { [FAILED_HEADER]: failure.code }),
    'Content-Type': type,
    'Content-Length': Buffer.byteLength(text),
    'X-Request-ID': request_id,
  });
  response.end(text);
}

function page(status: number, message: string, request_id: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${status}</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:36em;margin:15vh auto;padding:0 1em;color:#222;background:#fff}
h1{font-size:1.3em}small{color:#666}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}small{color:#999}}</style></head>
<body><h1>This preview cannot be shown</h1><p>${escaped(message)}</p><small>${status} · ${escaped(request_id)}</small></body></html>
`;
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escaped = (text: string): string => text.replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? '');
