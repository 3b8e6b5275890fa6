// What a program says first on a connection to the proxy port decides how it is read: SOCKS, or HTTP.
import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '../domain/ports.ts';
import { farewell } from './farewell.ts';
import { readStart } from './first-bytes.ts';
import { ACCESS_DENIED, TLS_HANDSHAKE } from './hello.ts';
import type { HttpFront } from './http-front.ts';
import { lead } from './lead.ts';
import { refusalOf, socksReplyOf } from './refusal.ts';
import { greetingReply, readGreeting, readSocksRequest, SOCKS_VERSION, socksReply } from './socks.ts';
import type { HttpTarget } from './target.ts';
import type { Visit } from './visit.ts';

const FIRST_MS = 10_000;
/** For a program that was refused: most that speak TLS say hello at once. */
const HELLO_MS = 500;

export interface Front {
  readonly clock: Clock;
  readonly http: HttpFront;
}

/** Serves one connection of a program. Never rejects; the connection may outlive it. */
export async function serveClient({ clock, http }: Front, client: Duplex, visit: Visit): Promise<void> {
  client.on('error', () => undefined);
  const timer = clock.after(FIRST_MS, () => client.destroy());
  try {
    const { isSocks } = await readStart(client, (bytes) => ({
      kind: 'first',
      size: 0,
      isSocks: bytes[0] === SOCKS_VERSION,
    }));
    if (isSocks) await serveSocks(http, client, visit, timer);
    else {
      timer.cancel();
      http.serve(client, visit, FIRST_MS);
    }
  } catch {
    client.destroy();
  } finally {
    timer.cancel();
  }
}

/** Serves a connection to the transparent gate, whose target is known. Never rejects; the connection may outlive it. */
export async function serveTarget(
  { clock, http }: Front,
  client: Duplex,
  visit: Visit,
  target: HttpTarget,
): Promise<void> {
  client.on('error', () => undefined);
  const ask = { ...target, how: 'gate', uid: visit.uid } as const;
  try {
    await lead(client, { http, clock, visit, ask, firstMs: FIRST_MS, agreed: () => undefined });
  } catch {
    await visit.gate.pace.turn();
    await sayRefused(client, clock);
  }
}

/** Answers a program that speaks TLS with an alert, and resets any other. */
async function sayRefused(client: Duplex, clock: Clock): Promise<void> {
  const timer = clock.after(HELLO_MS, () => client.destroy());
  try {
    const { isTls } = await readStart(client, (bytes) => ({
      kind: 'first',
      size: bytes.length,
      isTls: bytes[0] === TLS_HANDSHAKE,
    }));
    if (isTls) farewell(client, clock, ACCESS_DENIED);
    else client.destroy();
  } catch {
    client.destroy();
  } finally {
    timer.cancel();
  }
}

async function serveSocks(http: HttpFront, client: Duplex, visit: Visit, timer: Timer): Promise<void> {
  const greeting = await readStart(client, readGreeting);
  if (greeting.kind !== 'greeting') return void client.destroy();
  client.write(greetingReply(greeting.isAccepted));
  if (!greeting.isAccepted) return farewell(client, http.clock);
  const request = await readStart(client, readSocksRequest);
  timer.cancel();
  if (request.kind === 'refused') return farewell(client, http.clock, socksReply(request.reply));
  if (request.kind !== 'request') return void client.destroy();
  const { host, port } = request;
  const ask = { host, port, how: 'socks', uid: visit.uid } as const;
  try {
    const agreed = () => void client.write(socksReply('done'));
    await lead(client, { http, clock: http.clock, visit, ask, firstMs: FIRST_MS, agreed });
  } catch (error) {
    await visit.gate.pace.turn();
    farewell(client, http.clock, socksReply(socksReplyOf(refusalOf(error).reason)));
  }
}
