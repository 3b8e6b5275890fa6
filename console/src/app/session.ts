// Who is logged in. The key is exchanged for a short token and forgotten; the token is kept for this tab alone, and new tabs ask
// open ones for it. It is renewed while somebody uses the page.
import { signal } from '@preact/signals';
import type { Identity, SessionWithToken } from '../../../src/schema/session.ts';
import { call, credentials, type Failure, get, headerText, refusals } from '../api/call.ts';
import { closeStream, openStream } from './stream.ts';

const KEPT = 'svc.session';
const RENEW_MS = 4 * 60_000;
const ASK_TABS_MS = 150;

export type SessionState =
  | { kind: 'starting' }
  | { kind: 'out'; reason?: string }
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
  refusals.ended = () => leave('Your session has ended. Log in to continue here.');
  tabs.onmessage = ({ data }) => {
    if (data === 'who' && credentials.token !== undefined) tabs.postMessage({ token: credentials.token });
    if (data === 'out' && credentials.token !== undefined) leave('You logged out in another tab.');
  };
  for (const kind of ['pointerdown', 'keydown'])
    addEventListener(kind, () => {
      usedAt = Date.now();
    });
  setInterval(renew, RENEW_MS);
  credentials.token = sessionStorage.getItem(KEPT) ?? (await tokenOfTabs());
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
    enter(await get<Identity>('sessions/current'));
  } catch (error) {
    const failure = error as Failure;
    if (failure.status === 401 || failure.status === 403) return leave();
    session.value = { kind: 'failed', failure };
  }
}

export const tryAgain = refresh;

function enter(found: Identity): void {
  if (credentials.token !== undefined) sessionStorage.setItem(KEPT, credentials.token);
  session.value = { kind: 'in', identity: found };
  openStream();
}

function leave(reason?: string): void {
  credentials.token = undefined;
  sessionStorage.removeItem(KEPT);
  closeStream();
  session.value = reason === undefined ? { kind: 'out' } : { kind: 'out', reason };
}

/** Throws a `Failure`. The key is in one request and nowhere else. */
export async function logIn(key: string, owner: string): Promise<void> {
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
  actAs(undefined);
  leave();
}

export function actAs(owner: string | undefined): void {
  actingAs.value = owner;
  credentials.owner = owner;
  if (session.value.kind === 'in') openStream();
}

async function renew(): Promise<void> {
  if (credentials.token === undefined || Date.now() - usedAt > RENEW_MS) return;
  await call('POST', 'sessions/current/renew').catch(() => undefined);
}
