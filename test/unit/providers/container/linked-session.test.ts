// Moving a session to a link, on real sockets: whatever happens meanwhile, no session is left open, and none is handed out that has
// ended.
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { AgentIo } from '../../../../src/agent/io.ts';
import { realClock } from '../../../../src/host/clock.ts';
import { realRandom } from '../../../../src/host/random.ts';
import { openLanding } from '../../../../src/providers/container/landing.ts';
import { moved } from '../../../../src/providers/container/linked-session.ts';
import type { ContainerState } from '../../../../src/providers/container/state.ts';
import { silentLogger } from '../../../support/fakes/ports.ts';
import { temporaryFolder } from '../../../support/temporary.ts';

const NONCE = Buffer.alloc(16, 7);
const NO_ENGINE = new Error('the engine was asked');

/** A session on the engine's stream whose agent does `dial`, and a link that it may connect to. */
async function world(dial: (path: string) => Promise<void>) {
  const path = join(temporaryFolder(), 's');
  const link = await openLanding(path, NONCE, realClock());
  let end: () => void = () => undefined;
  const closed = new Promise<void>((resolve) => {
    end = resolve;
  });
  let closes = 0;
  const io = {
    dial: () => dial(path),
    closed,
    close: () => {
      closes++;
      end();
    },
  } as unknown as AgentIo;
  const state = {
    links: { reopen: async () => link, worked: () => undefined },
    engine: { upgrade: () => Promise.reject(NO_ENGINE) },
    logger: silentLogger,
    clock: realClock(),
    random: realRandom(),
    instance: { id: 'i', key: 'c5'.repeat(32) },
  } as unknown as ContainerState;
  const move = (signal = new AbortController().signal) =>
    moved(state, { ref: { id: 'sb', epoch: 1 }, name: 'sb' }, io, signal);
  return { io, move, path, closes: () => closes, end };
}

it('stays on the engine when the agent does not connect', async () => {
  const { io, move, path, closes } = await world(() => Promise.reject(new Error('EACCES')));
  expect(await move()).toBe(io);
  expect([closes(), existsSync(path)]).toEqual([0, false]);
});

it('asks the engine again when a session was lost by the attempt', async () => {
  const lost = await world(async () => {
    lost.end();
    throw new Error('the stream ended');
  });
  await expect(lost.move()).rejects.toBe(NO_ENGINE);
});

it('asks the engine again when the agent connects and does not answer', async () => {
  const half = await world(async (path) => {
    const socket = connect(path);
    await once(socket, 'connect');
    socket.end(NONCE);
  });
  await expect(half.move()).rejects.toBe(NO_ENGINE);
  expect(half.closes()).toBeGreaterThan(0);
});

it('closes its session when the caller leaves', async () => {
  const caller = new AbortController();
  const left = await world(async () => {
    caller.abort(new Error('the caller left'));
    throw caller.signal.reason;
  });
  await expect(left.move(caller.signal)).rejects.toThrow('the caller left');
  expect(left.closes()).toBeGreaterThan(0);
});

it('leaves the socket of a successor', async () => {
  const path = join(temporaryFolder(), 's');
  const first = await openLanding(path, NONCE, realClock());
  await first.close();
  const second = await openLanding(path, NONCE, realClock());
  await first.close();
  expect(existsSync(path)).toBe(true);
  await second.close();
  expect(existsSync(path)).toBe(false);
});

it('fails where it cannot listen, and leaves nothing', async () => {
  const folder = temporaryFolder();
  await expect(openLanding(join(folder, 'none', 's'), NONCE, realClock())).rejects.toMatchObject({
    syscall: 'listen',
  });
});
