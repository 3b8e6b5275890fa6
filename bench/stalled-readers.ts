// P23-stalled of the speed table: the memory that 200 stalled readers of events cost the server while it keeps publishing, at
// the peak.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { refusals } from './events.ts';
import { withHome } from './folders.ts';
import { anonymousMb, settledMb } from './memory-use.ts';
import type { Pair } from './row.ts';
import { withServer } from './server.ts';

const READERS = 200;
/** Bursts of 500 events: far more than a connection buffers. */
const BURSTS = 40;
const LOOK_MS = 100;
const REQUEST = 'GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n';

export function stalledPair(root: string): Pair {
  return {
    id: 'P23-stalled',
    name: `most memory for ${READERS} readers of events that stall`,
    target: 60,
    unit: 'MB',
    warmUps: 0,
    pairs: 3,
    ours: () =>
      withHome((home) =>
        withServer(root, { home, env: { SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare' } }, ({ address, pid }) =>
          growth(address, pid),
        ),
      ),
  };
}

async function growth(address: string, pid: number): Promise<number> {
  // A heap that has worked is larger than a new one, stalled readers or not.
  for (let n = 0; n < BURSTS; n += 1) await refusals(address);
  const before = await settledMb(pid);
  const readers = await Promise.all(Array.from({ length: READERS }, () => stalled(address)));
  const watch = new Most(pid);
  try {
    for (let n = 0; n < BURSTS; n += 1) await refusals(address);
    return watch.end() - before;
  } finally {
    watch.end();
    for (const reader of readers) reader.destroy();
  }
}

/** Has the first bytes of its answer and reads no more. */
async function stalled(address: string): Promise<Socket> {
  const socket = connect(Number(new URL(address).port), '127.0.0.1');
  socket.on('error', () => {});
  socket.write(REQUEST);
  await once(socket, 'data');
  return socket.pause();
}

class Most {
  #most = 0;
  readonly #look: () => void;
  readonly #timer: NodeJS.Timeout;

  constructor(pid: number) {
    this.#look = () => {
      this.#most = Math.max(this.#most, anonymousMb(pid));
    };
    this.#timer = setInterval(this.#look, LOOK_MS);
  }

  end(): number {
    clearInterval(this.#timer);
    this.#look();
    return this.#most;
  }
}
