// Paths that programs for E2B ask for and that are not served: counted, so that operators see what their programs miss.
import type { IncomingMessage } from 'node:http';
import type { ControlPlane } from '../../control/api/control-plane.ts';
import { API_PREFIX } from '../paths.ts';

/** How their SDKs and command line call themselves. */
const CLIENT = /^(?:e2b|connectrpc|connect-)/;
const LONGEST = 100;
const PLAIN = /^[A-Za-z][A-Za-z._-]{0,31}$/;

/** Counts the request if a client of E2B sent it. */
export function noteUnserved({ metrics }: Pick<ControlPlane, 'metrics'>, raw: IncomingMessage): void {
  const { headers, method, url = '/' } = raw;
  const isTheirs = headers['e2b-sandbox-id'] !== undefined || CLIENT.test(headers['user-agent'] ?? '');
  if (!isTheirs || url.startsWith(API_PREFIX)) return;
  metrics.unserved(`${method} ${shapeOf(url)}`);
}

/** The path with `:id` for what looks like one. */
function shapeOf(url: string): string {
  const [path = ''] = url.split(/[?#]/, 1);
  const parts = path
    .split('/')
    .map((part) => (part === '' || /^v\d$/.test(part) || PLAIN.test(part) ? part : ':id'));
  return parts.join('/').slice(0, LONGEST);
}
