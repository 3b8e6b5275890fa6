// Taking a guest's state out of its monitor, whose words the test writes.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { realClock } from '../../../../src/host/clock.ts';
import { Qmp } from '../../../../src/providers/microvm/qmp.ts';
import { saveState } from '../../../../src/providers/microvm/snapshot-state.ts';
import { scriptedMonitor } from '../../../support/scripted/monitor.ts';
import { temporaryFolder } from '../../../support/temporary.ts';

/** A monitor that agrees to all, sends `bytes` and then says how it went. */
async function saving(bytes: Buffer, status: string, signal = new AbortController().signal) {
  const monitor = await scriptedMonitor();
  const [qmp] = await Promise.all([Qmp.open(realClock(), monitor.path), monitor.greet()]);
  onTestFinished(() => qmp.close());
  const folder = temporaryFolder();
  const order = {
    qmp,
    clock: realClock(),
    socket: join(folder, 'sock'),
    user: undefined,
    to: join(folder, 'state'),
  };
  const commands: string[] = [];
  const answer = async () => {
    for (;;) {
      const { execute, arguments: args, id } = await monitor.heard();
      if (commands.at(-1) !== execute) commands.push(execute);
      if (execute === 'migrate') {
        const { uri } = args as { uri: string };
        connect(uri.slice('unix:'.length))
          .on('error', () => undefined)
          .end(bytes);
      }
      await monitor.say({ return: execute === 'query-migrate' ? { status } : {}, id });
    }
  };
  void answer();
  return { order, commands, done: saveState(order, signal) };
}

it('is sent by the monitor without memory into a file that only the server may read', async () => {
  const bytes = Buffer.alloc(200_000, 7);
  const { order, commands, done } = await saving(bytes, 'completed');
  await done;
  expect(commands).toEqual(['migrate-set-capabilities', 'migrate', 'query-migrate']);
  expect(readFileSync(order.to).equals(bytes)).toBe(true);
  expect(statSync(order.to).mode & 0o777).toBe(0o600);
  expect(existsSync(order.socket)).toBe(false);
});

it.each([
  ['fails', Buffer.from('x'), 'failed'],
  ['sends nothing', Buffer.alloc(0), 'completed'],
  ['never stops sending', Buffer.alloc(33 * 1024 * 1024), 'active'],
])('leaves no file when the monitor %s', async (_what, bytes, status) => {
  const { order, done } = await saving(bytes, status);
  await expect(done).rejects.toMatchObject({ code: 'provider_error' });
  expect(existsSync(order.to)).toBe(false);
  expect(existsSync(order.socket)).toBe(false);
});

it('ends on an abort', async () => {
  const stop = new AbortController();
  const { order, commands, done } = await saving(Buffer.from('x'), 'active', stop.signal);
  const refused = expect(done).rejects.toThrow('enough');
  while (!commands.includes('query-migrate')) await new Promise(setImmediate);
  stop.abort(new Error('enough'));
  await refused;
  expect(existsSync(order.socket)).toBe(false);
});
