// Who is logged in. The key is exchanged for a short token and forgotten; the token is kept for this tab alone, and new tabs ask
// open ones for it. It is renewed while somebody uses the page.
import { signal } from '@preact/signals';
import type { Identity, Session, SessionWithToken } from '../../../src/schema/session.ts';
import { call, credentials, type Failure, headerText, json, refusals } from '../api/call.ts';
import { go } from './router.ts';
import { closeStream, openStream } from './stream.ts';

const KEPT = 'svc.session';
const LONGEST_RENEW_MS = 4 * 60_000;
const SHORTEST_RENEW_MS = 5000;
const ASK_TABS_MS = 150;

export type SessionState =
  | { kind: 'starting' }
  /** `mayGoOn`: the session ended by itself, and the same person may continue. */
  | { kind: 'out'; reason?: string; mayGoOn?: true }
  | { kind: 'in'; identity: Identity }
  | { kind: 'failed'; failure: Failure };

export const session = signal<SessionState>({ kind: 'starting' });
/** The owner that an administrator acts as. */
export const actingAs = signal<string | undefined>(undefined);

const tabs = new BroadcastChannel('svc.session');
let usedAt = Date.now();

export const identity = (): Identity | undefined =>
  session.value.kind === 'in' ? session.value.identity : undefined;

/** Resolves when it is known who is there. */
export async function startSession(): Promise<void> {
  refusals.ended = () => leave('Your session has ended. Log in to continue here.', true);
  tabs.onmessage = ({ data }) => {
    if (data === 'who' && credentials.token !== undefined) tabs.postMessage({ token: credentials.token });
    if (data === 'out' && credentials.token !== undefined) leave('You logged out in another tab.');
  };
  for (const kind of ['pointerdown', 'keydown'])
    addEventListener(kind, () => {
      usedAt = Date.now();
    });
  const code = codeOfAddress();
  if (code !== undefined) {
    try {
      await logInByCode(code);
    } catch (error) {
      return leave((error as Failure).message);
    }
  }
  credentials.token ??= sessionStorage.getItem(KEPT) ?? (await tokenOfTabs());
  await refresh();
}

function tokenOfTabs(): Promise<string | undefined> {
  return new Promise((resolve) => {
    const asking = new BroadcastChannel('svc.session');
    const done = (token?: string) => {
      asking.close();
      resolve(token);
    };
    const timer = setTimeout(done, ASK_TABS_MS);
    asking.onmessage = ({ data }) => {
      if (typeof data?.token !== 'string') return;
      clearTimeout(timer);
      done(data.token);
    };
    asking.postMessage('who');
  });
}

async function refresh(): Promise<void> {
  try {
    enter(await json<Identity>('GET', 'sessions/current', { eager: true }));
  } catch (error) {
    const failure = error as Failure;
    if (failure.status === 401 || failure.status === 403) return leave();
    session.value = { kind: 'failed', failure };
    if (failure.isTooOften) setTimeout(() => void refresh(), (failure.retryAfter ?? 0) * 1000);
  }
}

export const tryAgain = refresh;

function enter(found: Identity): void {
  if (credentials.token !== undefined) sessionStorage.setItem(KEPT, credentials.token);
  session.value = { kind: 'in', identity: found };
  if (found.session) renewLater(found.session);
  openStream();
}

function leave(reason?: string, mayGoOn = false): void {
  credentials.token = undefined;
  sessionStorage.removeItem(KEPT);
  clearTimeout(renewal);
  closeStream();
  session.value = {
    kind: 'out',
    ...(reason !== undefined && { reason }),
    ...(mayGoOn && { mayGoOn }),
  };
}

/** A code of `svc console`, which leaves the address before anything else happens. */
async function logInByCode(code: string): Promise<void> {
  const answer = await call('POST', 'sessions/exchange', { body: { code } });
  credentials.token = ((await answer.json()) as SessionWithToken).token;
  go('');
}

function codeOfAddress(): string | undefined {
  const code = new URLSearchParams(location.hash.slice(1)).get('code');
  if (code === null) return undefined;
  history.replaceState(null, '', location.href.replace(/#.*$/, ''));
  return code;
}

/** Throws a `Failure`. The key is in one request and nowhere else. */
export async function logIn(key: string, owner: string): Promise<void> {
  actAs(undefined);
  const headers = { 'X-API-Key': headerText(key) };
  const body = owner === '' ? {} : { owner_id: owner };
  const answer = await call('POST', 'sessions', { headers, body });
  const { token } = (await answer.json()) as SessionWithToken;
  credentials.token = token;
  await refresh();
}

export async function logOut(): Promise<void> {
  await call('DELETE', 'sessions/current').catch(() => undefined);
  tabs.postMessage('out');
  leave();
  actAs(undefined);
}

export function actAs(owner: string | undefined): void {
  actingAs.value = owner;
  credentials.owner = owner;
  if (session.value.kind === 'in') openStream();
}

let renewal: ReturnType<typeof setTimeout> | undefined;

/** Three times before it would end, by the clock of this machine, which may be wrong: at least every four minutes. */
function renewLater({ expires_at }: Pick<Session, 'expires_at'>): void {
  const third = (Date.parse(expires_at) - Date.now()) / 3;
  const ms = Math.min(LONGEST_RENEW_MS, Math.max(SHORTEST_RENEW_MS, third));
  clearTimeout(renewal);
  renewal = setTimeout(async () => {
    if (credentials.token === undefined) return;
    const isUsed = Date.now() - usedAt <= ms;
    const renewed = isUsed
      ? await call('POST', 'sessions/current/renew').then(
          (answer) => answer.json() as Promise<Session>,
          () => undefined,
        )
      : undefined;
    if (credentials.token !== undefined) renewLater(renewed ?? { expires_at });
  }, ms);
}
