// Leads a connection of a program to the target that it asked for: as requests that the server reads, or as bytes.
import type { Duplex } from 'node:stream';
import { endpointCredential, isBrokered } from '../domain/egress/credential.ts';
import { egressHost } from '../domain/egress/host.ts';
import type { Clock } from '../domain/ports.ts';
import { textOf, wantedOf } from './decide.ts';
import type { AppliedEgress, EgressAuthority } from './egress.ts';
import { endTls } from './intercept.ts';
import { closeLine, type Line, lineKey } from './kept-line.ts';
import type { Ask, Passage } from './passage.ts';
import { secure } from './secure.ts';
import { tunnel } from './tunnel.ts';
import type { FrontGate, HttpReader, Visit } from './visit.ts';

/** Requests to it are read as HTTP: their Host must be the one that was decided. */
const HTTP_PORT = 80;

export interface Lead {
  readonly http: HttpReader;
  readonly clock: Clock;
  readonly visit: Visit;
  readonly ask: Ask;
  /** Ms until the first byte of a request. */
  readonly firstMs: number;
  /** Tells the program that its connection stands; what it sends from then on is for the target. */
  agreed(): void;
}

/** Resolves when bytes pass. Rejects with a refusal, which has been logged, before `agreed` is called. */
export async function lead(
  client: Duplex,
  { http, clock, visit, ask, firstMs, agreed }: Lead,
): Promise<void> {
  const { gate } = visit;
  const isHttp = ask.port === HTTP_PORT;
  if (isIntercepted(ask, gate)) {
    await gate.admit(ask, client);
    agreed();
    return intercept(client, { http, clock, visit, ask, firstMs });
  }
  if (!isHttp) {
    const opened = await gate.open(ask, client);
    agreed();
    return tunnel(client, opened, gate, clock);
  }
  // Through the transparent gate a refusal is the answer to the first request.
  if (ask.how !== 'gate' && !isEndpoint(ask, gate.policy)) await gate.admit(ask, client);
  agreed();
  http.serve(client, { ...visit, fixed: ask }, firstMs);
}

/** Never rejects: the program has its answer already, so a refusal is only logged. */
async function intercept(
  client: Duplex,
  { http, clock, visit, ask, firstMs }: Omit<Lead, 'agreed'>,
): Promise<void> {
  const { gate } = visit;
  const host = hostOf(ask);
  let passage: Passage | undefined;
  const began = (early: Passage) => {
    passage = early;
  };
  const key = lineKey(host, ask);
  const idle = gate.idle.take(key, client);
  const line = idle ? Promise.resolve(idle) : openEarly(client, host, { ask, gate, clock, began });
  // Whoever takes the line gets its refusal.
  line.catch(() => undefined);
  try {
    const inside = await endTls(client, host, gate.authority as EgressAuthority, clock);
    http.serve(inside, { ...visit, fixed: { ...ask, isTls: true } }, firstMs, {
      key,
      line,
      asked: (request) => passage?.asked(request),
    });
  } catch (error) {
    line.then(closeLine, () => undefined);
    gate.refuse(ask, client, error);
  }
}

/** The handshakes with the program and with its target run side by side. */
async function openEarly(
  client: Duplex,
  host: string,
  { ask, gate, clock, began }: { ask: Ask; gate: FrontGate; clock: Clock; began(passage: Passage): void },
): Promise<Line> {
  const opened = await gate.openEarly(ask, client, began);
  const stream = await secure(opened, host, gate, clock);
  return { opened, stream, isReused: false, waitingSince: clock.monotonic() };
}

function isIntercepted(ask: Ask, { policy, authority }: FrontGate): boolean {
  const read = egressHost(ask.host);
  return authority !== undefined && read !== undefined && isBrokered(policy.credentials, read, ask.port);
}

/** Canonical: `ask` was admitted. */
const hostOf = ({ host, port }: Ask) => textOf(wantedOf(host, port).host);

/** The name of a credential's endpoint has no address; each request to it is decided by itself. */
function isEndpoint({ host }: Ask, { credentials }: AppliedEgress): boolean {
  const read = egressHost(host);
  return read !== undefined && endpointCredential(credentials, textOf(read)) !== undefined;
}
