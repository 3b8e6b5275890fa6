// What of starting and ending a saved guest goes on after an abort: nothing that whoever clears could meet.
import { EventEmitter, once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Host } from '../../../../src/host/host.ts';
import type { Making } from '../../../../src/providers/microvm/launch.ts';
import { copySparse } from '../../../../src/providers/microvm/overlay.ts';
import { restore } from '../../../../src/providers/microvm/restore.ts';
import type { Snapshot } from '../../../../src/providers/microvm/snapshot.ts';
import type { MicrovmState } from '../../../../src/providers/microvm/state.ts';
import { fakeHost } from '../../../support/fakes/host.ts';
import { fakeClock } from '../../../support/fakes/ports.ts';
import { temporaryFolder } from '../../../support/temporary.ts';

const SECOND_MS = 1000;
const STOP = new Error('Stop.');

it('settles only when its work has ended, for any time after the abort', async () => {
  const clock = fakeClock();
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'run'));
  writeFileSync(join(folder, 'state'), '');
  const paths = { folder: join(folder, 'run'), sockets: {} };
  const news = new EventEmitter();
  const asked = once(news, 'asked');
  const state = {
    clock,
    host: fakeHost({ uid: 1000 }),
    config: { overlay_mb: 0, network: 'none' },
    folders: { short: 's' },
    cgroups: async () => {
      news.emit('asked');
      await once(news, 'answer');
      throw new Error('no cgroups');
    },
  } as unknown as MicrovmState;
  const making = {
    name: 'n',
    spec: {},
    image: {},
    shape: {},
    paths,
    machinery: { kernel: {}, initramfs: {} },
  };
  const snapshot = { state: join(folder, 'state') } as Snapshot;
  const stop = new AbortController();
  let isOver = false;
  const restored = restore(state, { making: making as unknown as Making, snapshot }, stop.signal).finally(
    () => {
      isOver = true;
    },
  );
  restored.catch(() => undefined);
  await asked;
  stop.abort(STOP);
  await clock.advance(SECOND_MS);
  expect(isOver).toBe(false);
  news.emit('answer');
  await expect(restored).rejects.toBe(STOP);
});

it('stops copying a disk when its signal aborts', async () => {
  const run: Host['run'] = (_file, _args, { signal }) =>
    new Promise((_resolve, reject) => {
      if (!signal) return reject(new Error('nothing stops this copy'));
      if (signal.aborted) return reject(signal.reason);
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  const stop = new AbortController();
  const copied = copySparse({ ...fakeHost({}), run }, { from: 'a', to: 'b' }, stop.signal);
  stop.abort(STOP);
  await expect(copied).rejects.toBe(STOP);
});
