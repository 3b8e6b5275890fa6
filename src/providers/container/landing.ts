// Where the agent of one container may connect for a moment: a Unix socket that the container sees in a read-only folder. Whoever
// sends the nonce first is the agent. Everybody else inside may connect, too, and is given nothing.
import { timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { chmod, rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { once as onlyOnce } from '../../domain/once.ts';
import type { Clock } from '../../domain/ports.ts';
import { orAfter } from '../../domain/timeout.ts';

/** Connections that have not sent the nonce. */
const MOST = 8;
const NONCE_MS = 2000;

export interface Landing {
  /** What the agent has to send first. Good for one connection. */
  readonly nonce: Buffer;
  /** Resolves when the agent has connected; never, where it does not. */
  readonly connected: Promise<unknown>;
  /** The agent's connection, owned by the caller; undefined if it has not come after `ms`. */
  arrival(ms: number): Promise<Socket | undefined>;
  /** Nobody can connect from now on, and the socket is removed. Idempotent: a later call leaves the socket of a successor. */
  close(): Promise<void>;
}

/** Listens at `path`, where an earlier socket may be left. Every user may connect: the image's user is not known here. */
export async function openLanding(path: string, nonce: Buffer, clock: Clock): Promise<Landing> {
  await rm(path, { force: true });
  const waiting = new Set<Socket>();
  let arrived: Socket | undefined;
  let arrive!: (socket: Socket) => void;
  const arrival = new Promise<Socket>((resolve) => {
    arrive = resolve;
  });
  const server = createServer((socket) => {
    waiting.add(socket);
    socket.on('error', () => undefined).once('close', () => waiting.delete(socket));
    if (waiting.size > MOST || arrived) return void socket.destroy();
    void sends(socket, nonce, clock).then((isAgent) => {
      if (!isAgent || arrived) return void socket.destroy();
      waiting.delete(socket);
      arrived = socket;
      arrive(socket);
    });
  });
  let isTaken = false;
  const stop = onlyOnce(async () => {
    // Its callback would come only when the agent's connection ends.
    server.close();
    for (const socket of waiting) socket.destroy();
    if (!isTaken) arrived?.destroy();
    await rm(path, { force: true });
  });
  try {
    server.listen(path);
    await once(server, 'listening');
    // Later ones, such as a connection that no descriptor is left for: the agent falls back to the engine.
    server.on('error', () => undefined);
    await chmod(path, 0o666);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    nonce,
    connected: arrival,
    arrival: async (ms) => {
      const socket = await orAfter(clock, ms, arrival, () => undefined);
      isTaken ||= socket !== undefined;
      return socket;
    },
    close: stop,
  };
}

/** Whether the nonce is the first that arrives, within 2 s. Leaves the socket paused, with what follows in it. */
function sends(socket: Socket, nonce: Buffer, clock: Clock): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (isNonce: boolean) => {
      timer.cancel();
      socket.off('readable', look).off('close', leave);
      resolve(isNonce);
    };
    const look = () => {
      const bytes: Buffer | null = socket.read(nonce.length);
      if (bytes) settle(bytes.length === nonce.length && timingSafeEqual(bytes, nonce));
    };
    const leave = () => settle(false);
    const timer = clock.after(NONCE_MS, leave);
    socket.on('readable', look).once('close', leave);
  });
}
