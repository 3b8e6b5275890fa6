// Sessions of the console (docs/console.md#login).
import { Type } from 'typebox';
import {
  Identity,
  LoginCode,
  LoginExchange,
  Session,
  SessionCreate,
  SessionList,
  SessionWithToken,
} from '../../schema/session.ts';
import { Answer } from '../answer.ts';
import { defineRoute, type Route } from '../route.ts';

/** Every key may log in, whatever its scopes: the session has the same ones. */
const own = { tag: 'system', auth: 'api', scope: 'read' } as const;
const NO_STORE = { 'Cache-Control': 'no-store' };

export const sessionRoutes: Route[] = [
  defineRoute({
    ...own,
    id: 'createSession',
    summary: 'Open a session of the console',
    description:
      'Answers a token that is sent as X-API-Key in place of the key. It has the rights of the key, at most, and ends with the key, after console.session_idle without a renewal, and after console.session_max.',
    body: SessionCreate,
    bodyOptional: true,
    success: { status: 201, description: 'The session.', schema: SessionWithToken },
    errors: ['conflict', 'unavailable', 'resource_limit'],
    example: {},
    handler: async ({ body, caller }, { sessions }) =>
      new Answer(await sessions.open(body, caller), { headers: NO_STORE }),
  }),
  defineRoute({
    ...own,
    id: 'createLoginCode',
    summary: 'Create a code that opens a session of the console once',
    description:
      'Within a minute, by POST /sessions/exchange, which needs no key. The session is the one that POST /sessions would open.',
    body: SessionCreate,
    bodyOptional: true,
    success: { status: 201, description: 'The code.', schema: LoginCode },
    errors: ['conflict', 'unavailable', 'resource_limit'],
    example: {},
    handler: async ({ body, caller }, { sessions }) =>
      new Answer(await sessions.code(body, caller), { headers: NO_STORE }),
  }),
  defineRoute({
    id: 'exchangeLoginCode',
    tag: 'system',
    auth: 'code',
    summary: 'Open a session of the console by a code',
    body: LoginExchange,
    success: { status: 201, description: 'The session.', schema: SessionWithToken },
    errors: ['unauthorized', 'unavailable', 'resource_limit'],
    example: { code: 'svcc_…' },
    handler: async ({ body, about }, { sessions }) => {
      const session = await sessions.exchange(body.code);
      about(session.id);
      return new Answer(session, { headers: NO_STORE });
    },
  }),
  defineRoute({
    ...own,
    id: 'currentIdentity',
    summary: 'Get who calls, and what the caller may do',
    success: { status: 200, description: 'The caller.', schema: Identity },
    errors: [],
    handler: ({ caller, administers, server }, { sessions }) => {
      const identity: Identity = Object.assign(
        { actor: caller.actor, bound: caller.bound === true, administers, version: server.version },
        sessions.settings(),
      );
      if (caller.owner !== undefined) identity.owner_id = caller.owner;
      const session = sessions.current(caller);
      if (session) identity.session = session;
      return new Answer(identity, { headers: NO_STORE });
    },
  }),
  defineRoute({
    ...own,
    id: 'renewSession',
    summary: 'Renew the session of the caller',
    success: { status: 200, description: 'The session.', schema: Session },
    errors: ['conflict', 'not_found', 'unavailable'],
    handler: ({ caller }, { sessions }) => sessions.renew(caller),
  }),
  defineRoute({
    ...own,
    id: 'endSession',
    summary: 'End the session of the caller',
    description: 'The token ends within 2 s at every server, with the streams and terminals that it opened.',
    success: { status: 200, description: 'The session that ended.', schema: Session },
    errors: ['conflict', 'unavailable'],
    handler: ({ caller }, { sessions }) => sessions.end(caller),
  }),
  defineRoute({
    id: 'listSessions',
    tag: 'admin',
    auth: 'admin',
    summary: 'List sessions of the console, newest first',
    success: { status: 200, description: 'Sessions that have not ended.', schema: SessionList },
    errors: [],
    handler: (_call, { sessions }) => sessions.list(),
  }),
  defineRoute({
    id: 'revokeSession',
    tag: 'admin',
    auth: 'admin',
    summary: 'End a session of the console',
    params: Type.Object({
      session: Type.String({ minLength: 1, maxLength: 64, description: 'Id of the session.' }),
    }),
    success: { status: 200, description: 'The session that ended.', schema: Session },
    errors: ['not_found', 'unavailable'],
    handler: ({ params }, { sessions }) => sessions.revoke(params.session),
  }),
];
