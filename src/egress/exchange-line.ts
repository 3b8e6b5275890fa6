// The connection that a request is sent over: one that is there already, or a new one; and what becomes of it after the answer.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Clock } from '../domain/ports.ts';
import { outlives, WAIT_MS } from './idle-lines.ts';
import { closeLine, isOpen, type KeptLine, type Line, lineKey } from './kept-line.ts';
import type { HttpRoute } from './route.ts';
import { secure } from './secure.ts';
import type { Visit } from './visit.ts';

/** The program that sends the request. */
export interface Asking {
  readonly client: Duplex;
  readonly visit: Visit;
  readonly clock: Clock;
  readonly kept: KeptLine;
}

/** Rejects with a refusal, which has been logged. */
export async function lineFor(asking: Asking, route: HttpRoute): Promise<Line> {
  const { client, visit, clock } = asking;
  const { gate } = visit;
  const known = route.isTls ? await knownLine(asking, route) : undefined;
  if (known) {
    try {
      gate.again(known.opened.passage, route.ask);
      return known;
    } catch (error) {
      closeLine(known);
      throw error;
    }
  }
  const opened = await gate.open(route.ask, client);
  const stream = route.isTls ? await secure(opened, route.host, gate, clock) : opened.upstream;
  return { opened, stream, isReused: false };
}

/** Rejects with the refusal of one that was opened for this request. */
async function knownLine(
  { client, visit: { gate }, clock, kept }: Asking,
  { host, ask, credential }: HttpRoute,
): Promise<Line | undefined> {
  const key = lineKey(host, ask);
  const line = (await kept.take(key, ask)) ?? gate.idle.take(key, client);
  if (!line) return undefined;
  const { waitingSince, isReused, reusableWith } = line;
  // It has served this program's connection before.
  if (waitingSince === undefined) return line;
  const isTimely = clock.monotonic() - waitingSince < WAIT_MS;
  if (isTimely && (!isReused || (reusableWith === credential && isOpen(line)))) return line;
  closeLine(line);
  return undefined;
}

export interface Served {
  readonly route: HttpRoute;
  readonly answer: IncomingMessage;
  /** Both sides keep the connection. */
  readonly isKept: boolean;
}

/** A connection by TLS serves further requests of this program's connection, and then others; any other one request. */
export function settleLine(
  { kept }: Asking,
  { opened, stream }: Line,
  { route, answer, isKept }: Served,
): void {
  const { host, ask, isTls, credential } = route;
  if (!isTls || !isKept || stream.destroyed) return void opened.upstream.destroy();
  opened.passage.pause();
  const reusableWith = outlives(answer) ? credential : undefined;
  kept.keep(lineKey(host, ask), { opened, stream, isReused: true, reusableWith });
}
