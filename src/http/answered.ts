// What is counted of a request: the route, never the path, and few words besides.
import type { ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { AnsweredRequest } from '../control/api/system.ts';

export function answeredRequest(
  { route, raw, preview }: FastifyRequest,
  response: ServerResponse,
  ms: number,
): AnsweredRequest {
  return {
    route: preview === undefined ? (route?.id ?? 'none') : 'preview',
    method: raw.method ?? 'none',
    // A client that left before its answer got no status; the head of a switch of protocols is not written by the response.
    status: response.headersSent || response.statusCode === 101 ? String(response.statusCode) : 'none',
    seconds: ms / 1000,
  };
}
