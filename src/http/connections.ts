// How many connections there may be: in all, so that descriptors are left for sandboxes, files and the database; and from
// one address, so that one client without a key cannot keep all others out. Who is over is closed without an answer:
// nothing of it has been read.
import type { Server, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { addressRanges, addressScope, plainAddress } from '../domain/address.ts';
import type { Clock, Logger } from '../domain/ports.ts';

const LOOPBACK = ['127.0.0.0/8', '::1'];
/** The default is as many as the descriptors allow; each connection takes memory, too. */
const MOST = 20_000;
const LEAST = 16;
const SMALL_RESERVE = 1024;
/** Between two log lines of one kind. */
const QUIET_MS = 10_000;

export interface ConnectionLimits {
  /** In all. */
  most: number;
  /** From one IPv4 address or IPv6 /64; 0: no bound. */
  perAddress: number;
  /**
   * Addresses and CIDR blocks without a limit of their own, in addition to loopback: those of proxies stand for many
   * clients.
   */
  unbounded: readonly string[];
}

/**
 * What `server.max_connections` comes to. Of the files that this process may have open a quarter is left for everything
 * else, of a small number a half: sandboxes, the database and files need as many there as with a large one.
 */
export function mostConnections(configured: number, maxFiles: number): number {
  const room = Math.max(maxFiles / 2, Math.min(maxFiles - SMALL_RESERVE, 0.75 * maxFiles));
  return Math.min(configured === 0 ? MOST : configured, Math.max(LEAST, Math.floor(room)));
}

/** Before the server listens. Returns what releases a connection from the bound of its address. */
export function limitConnections(
  server: Server,
  limits: ConnectionLimits,
  { clock, logger }: { clock: Clock; logger: Logger },
): (socket: Duplex) => void {
  const { most, perAddress } = limits;
  const isUnbounded = addressRanges([...LOOPBACK, ...limits.unbounded]);
  const full = sparingly(clock, (refused) =>
    logger.warn({ refused, most }, 'Connection limit reached; refusing new connections.'),
  );
  const crowded = sparingly(clock, (refused, address) =>
    logger.warn(
      { refused, address, most: perAddress },
      'Connection limit of one address reached; refusing its new connections.',
    ),
  );
  server.maxConnections = most;
  server.on('drop', () => full(''));
  const open = new Map<string, number>();
  const counted = new Map<Duplex, string>();
  const uncount = (socket: Duplex) => {
    const scope = counted.get(socket);
    if (scope === undefined) return;
    counted.delete(socket);
    const left = (open.get(scope) ?? 1) - 1;
    if (left === 0) open.delete(scope);
    else open.set(scope, left);
  };
  if (perAddress === 0) return uncount;
  server.prependListener('connection', (socket: Socket) => {
    const address = plainAddress(socket.remoteAddress ?? '');
    // One that is handed back to the server is counted already.
    if (address === undefined || counted.has(socket) || isUnbounded(address)) return;
    const scope = addressScope(address);
    const before = open.get(scope) ?? 0;
    if (before >= perAddress) {
      socket.destroy();
      return crowded(scope);
    }
    counted.set(socket, scope);
    open.set(scope, before + 1);
    socket.once('close', () => uncount(socket));
  });
  return uncount;
}

/** Logs the first at once, then a summary at most every 10 s, with the last of them. */
function sparingly(clock: Clock, tell: (count: number, last: string) => void): (which: string) => void {
  let count = 0;
  let last = '';
  let isQuiet = false;
  const say = () => {
    isQuiet = count > 0;
    if (!isQuiet) return;
    tell(count, last);
    count = 0;
    clock.after(QUIET_MS, say);
  };
  return (which) => {
    count += 1;
    last = which;
    if (!isQuiet) say();
  };
}
