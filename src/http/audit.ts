// Which calls the audit records, and what of them: every call below /admin, also one that was refused or names nothing,
// and those that change something (route-audit.ts), also refused ones. Bodies and queries are never recorded.
import type { ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { AuditLog } from '../control/api/system.ts';
import { type AccessRules, type FindKey, identify } from '../domain/access.ts';
import { trimmedOwner } from '../domain/owner.ts';
import { ownerFromHeader } from '../domain/owner-header.ts';
import type { Clock } from '../domain/ports.ts';
import { keysOf } from './authenticate.ts';
import { isPreflight } from './headers/cors.ts';
import { API_PREFIX } from './paths.ts';

/** nginx's number for a client that went before the answer: there is no other. */
const CLIENT_GONE = 499;

export interface AuditorDeps {
  log: AuditLog;
  rules: AccessRules;
  find: FindKey;
  clock: Clock;
  /** Calls inside sandboxes are recorded too. */
  execs: boolean;
}

/** To be called once a call is over, `ms` after it came. */
export type Auditor = (request: FastifyRequest, response: ServerResponse, ms: number) => void;

export function auditor({ log, rules, find, clock, execs }: AuditorDeps): Auditor {
  return (request, response, ms) => {
    if (!isAudited(request, response.statusCode, execs)) return;
    const { raw, route } = request;
    const target = targetOf(request);
    const { 'x-user-id': user, 'user-agent': agent } = raw.headers;
    log.record({
      actor: actorOf(request, rules, find),
      ...(user !== undefined && { user_id: trimmedOwner(ownerFromHeader(String(user)) ?? String(user)) }),
      method: raw.method ?? '',
      path: pathOf(raw.url),
      status: response.headersSent || response.statusCode !== 200 ? response.statusCode : CLIENT_GONE,
      duration_ms: Math.round(ms * 10) / 10,
      request_id: request.id,
      remote_addr: request.address,
      ...(agent !== undefined && { user_agent: agent }),
      created_at: new Date(clock.now()).toISOString(),
      ...(target !== undefined && { target }),
      ...(route !== undefined && route.audited !== 'kept' && { frequent: true }),
    });
  };
}

/** A granted preflight is not a call. */
function isAudited({ route, raw }: FastifyRequest, status: number, execs: boolean): boolean {
  if (route?.audited === 'inside') return execs;
  if (route) return route.audited !== 'never';
  return isAdminPath(pathOf(raw.url)) && !(status < 400 && isPreflight(raw.method, raw.headers));
}

/** Whoever calls what does not exist has passed no authentication. */
function actorOf({ identity, route, raw }: FastifyRequest, rules: AccessRules, find: FindKey): string {
  const known = identity ?? (route ? undefined : identify(rules, keysOf(raw.headers), find));
  return known?.actor ?? 'none';
}

/** What a 201 has created, else what the path names. */
function targetOf({ created, params }: FastifyRequest): string | undefined {
  if (created !== undefined) return created;
  const [named] = Object.values((params ?? {}) as Record<string, unknown>);
  return typeof named === 'string' && named !== '' ? named : undefined;
}

/** The path alone: no query, and no host of a request that was meant for a proxy. */
const pathOf = (url = '') => url.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/, 1)[0] ?? '';

function isAdminPath(path: string): boolean {
  const plain = decoded(path).toLowerCase();
  return plain === `${API_PREFIX}/admin` || plain.startsWith(`${API_PREFIX}/admin/`);
}

/** Each escape by itself: one that is malformed must not hide what stands before it. */
function decoded(path: string): string {
  return path.replaceAll(/%[2-7][0-9a-f]/gi, (code) =>
    String.fromCharCode(Number.parseInt(code.slice(1), 16)),
  );
}
