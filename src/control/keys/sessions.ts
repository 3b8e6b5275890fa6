// Sessions of the console. They are kept like named keys, in the ring: a request finds its session without waiting, and an end
// holds within 2 s at every server. A session has no rights that its key lacks, and ends with it.
import { parseDuration } from '../../domain/duration.ts';
import { ServiceError } from '../../domain/errors.ts';
import { keyHash } from '../../domain/key-text.ts';
import type { LiveConfig } from '../../domain/live-config.ts';
import { parseOwner } from '../../domain/owner.ts';
import type { Clock, Ids, Random } from '../../domain/ports.ts';
import type { Config } from '../../schema/config.ts';
import type { KeyScope } from '../../schema/key-words.ts';
import {
  type LoginCode,
  SESSION_PREFIX,
  type Session,
  type SessionCreate,
  type SessionWithToken,
} from '../../schema/session.ts';
import type { SessionRecord, SessionStore } from '../../store/seam/sessions.ts';
import type { Caller } from '../api/caller.ts';
import type { CodeRights, OneTimeCodes } from '../api/codes.ts';
import type { Sessions } from '../api/sessions.ts';
import type { KeyRing } from './key-ring.ts';

const TOKEN_BYTES = 32;
/** The purpose of codes. */
const LOGIN = 'login';

export interface SessionsDeps {
  sessions: SessionStore;
  ring: KeyRing;
  codes: OneTimeCodes;
  ids: Pick<Ids, 'session'>;
  random: Random;
  clock: Clock;
  config: LiveConfig<Pick<Config, 'auth' | 'console'>>;
}

export function sessionViews(deps: SessionsDeps): Sessions {
  const { sessions, ring, clock, config } = deps;
  // Not those whose key was revoked or has ended.
  const live = () =>
    ring
      .sessions()
      .filter(({ expires_at }) => Date.parse(expires_at) > clock.now())
      .filter(({ hash }) => ring.find(Buffer.from(hash, 'hex')));
  const own = ({ credential }: Caller) => live().find(({ id }) => id === credential);
  const known = (caller: Caller) => {
    const session = own(caller);
    if (session) return session;
    throw new ServiceError('conflict', 'The call does not use a session.', {
      remedy: 'Send the token of a session in the header X-API-Key.',
    });
  };
  const end = (session: SessionRecord) => ended(deps, session);
  return {
    open: (request, caller) => open(deps, rightsOf(deps, request, caller)),
    code: (request, caller): Promise<LoginCode> => deps.codes.issue(LOGIN, rightsOf(deps, request, caller)),
    exchange: async (code) => open(deps, await deps.codes.take(LOGIN, code)),
    current: (caller) => {
      const session = own(caller);
      return session && viewOf(session);
    },
    renew: async (caller) => {
      const session = known(caller);
      const idle = clock.now() + parseDuration(config.current().console.session_idle, 'console.session_idle');
      const expires_at = new Date(Math.min(idle, Date.parse(session.ends_at))).toISOString();
      if (!(await sessions.renew(session.id, expires_at))) throw unknownSession();
      const renewed = Object.assign({}, session, { expires_at });
      ring.putSession(renewed);
      return viewOf(renewed);
    },
    end: async (caller) => end(known(caller)),
    list: () => live().sort(byNewest).map(viewOf),
    revoke: async (id) => {
      const session = await refreshing(ring, () => live().find((one) => one.id === id));
      if (!session) throw unknownSession();
      return end(session);
    },
    settings: () => {
      const { auth, console } = config.current();
      const { label, label_colour } = console;
      return { label, label_colour, authentication: auth.enabled, enforce_owner: auth.enforce_owner };
    },
  };
}

/** What `find` returns, if need be after a look at what other servers have opened a moment ago. */
async function refreshing<T>(ring: KeyRing, find: () => T | undefined): Promise<T | undefined> {
  if (ring.areShared && !find()) await ring.refresh();
  return find();
}

async function ended({ sessions, ring }: SessionsDeps, session: SessionRecord): Promise<Session> {
  await sessions.end([session.id]);
  ring.dropSessions([session.id]);
  return viewOf(session);
}

async function open(
  deps: SessionsDeps,
  { parent, actor, owner_id, scopes }: CodeRights,
): Promise<SessionWithToken> {
  const { sessions, ring, clock, config, ids, random } = deps;
  const { session_idle, session_max } = config.current().console;
  const token = SESSION_PREFIX + random.bytes(TOKEN_BYTES).toString('base64url');
  const now = clock.now();
  const ends = now + parseDuration(session_max, 'console.session_max');
  const expires = Math.min(ends, now + parseDuration(session_idle, 'console.session_idle'));
  const session: SessionRecord = Object.assign(owner_id === undefined ? {} : { owner_id }, {
    parent,
    actor,
    scopes,
    id: ids.session(),
    hash: keyHash(token),
    created_at: new Date(now).toISOString(),
    expires_at: new Date(expires).toISOString(),
    ends_at: new Date(ends).toISOString(),
  });
  const ended = superfluous(deps);
  await sessions.open(session, ended);
  ring.dropSessions(ended);
  ring.putSession(session);
  return Object.assign(viewOf(session), { token });
}

/** No more than the key has. A session of one owner never administers. */
function rightsOf({ ring, config }: SessionsDeps, request: SessionCreate, caller: Caller): CodeRights {
  const { enabled, enforce_owner } = config.current().auth;
  if (!enabled || caller.role === 'anonymous')
    throw new ServiceError('conflict', 'A login needs a key, and the call has none.', {
      remedy: enabled
        ? 'Send a key in the header X-API-Key.'
        : 'Authentication is off: call without a session.',
      ...(!enabled && { details: { reason: 'authentication_off' } }),
    });
  if (ring.session(caller.credential))
    throw new ServiceError('forbidden', 'A session cannot open another session.', {
      remedy: 'Log in with a key.',
    });
  const asked = request.owner_id === undefined ? caller.owner : parseOwner(request.owner_id, 'owner_id');
  if (caller.bound && asked !== caller.owner)
    throw new ServiceError('forbidden', 'The key belongs to another owner.', {
      remedy: 'Leave owner_id out: the key says who the owner is.',
    });
  if (asked === undefined && enforce_owner && caller.role !== 'admin')
    throw new ServiceError('bad_request', 'owner_id is missing.', {
      remedy: 'Name the owner that the session acts for.',
    });
  const scopes: readonly KeyScope[] =
    ring.scopesOf(caller.credential) ?? (caller.role === 'admin' ? ['admin'] : ['use']);
  const { credential: parent, actor } = caller;
  if (asked === undefined) return { parent, actor, scopes };
  return { parent, actor, owner_id: asked, scopes: scopes.includes('admin') ? ['use'] : scopes };
}

/** Ended sessions, and the ones that would end first where there are too many. */
function superfluous({ ring, clock, config }: SessionsDeps): string[] {
  const all = ring.sessions().sort((a, b) => (a.expires_at < b.expires_at ? -1 : 1));
  const live = all.filter(({ expires_at }) => Date.parse(expires_at) > clock.now());
  const most = config.current().console.max_sessions;
  return all.slice(0, all.length - Math.min(live.length, most - 1)).map(({ id }) => id);
}

function viewOf({ hash: _, parent: __, scopes, ...shown }: SessionRecord): Session {
  return Object.assign(shown, { scopes: scopes.slice() });
}

const byNewest = (a: SessionRecord, b: SessionRecord) => (a.created_at < b.created_at ? 1 : -1);

const unknownSession = () =>
  new ServiceError('not_found', 'There is no such session.', {
    remedy: 'List sessions to see the current ones.',
  });
