// What the service manager is told, and when.
import { expect, it } from 'vitest';
import { supervisor } from '../../../src/app/supervisor.ts';
import { fakeClock, recordingLogger } from '../../support/fakes/ports.ts';

const NOTIFY = '/usr/bin/systemd-notify';

function setUp(env: Record<string, string>, result = { code: 0, stdout: '', stderr: '' }) {
  const told: string[][] = [];
  const clock = fakeClock();
  const host = {
    which: async () => (env.MISSING ? undefined : NOTIFY),
    run: async (_file: string, args: readonly string[], options: { env?: Record<string, string> }) => {
      told.push([...args, String(options.env?.NOTIFY_SOCKET)]);
      return result;
    },
  };
  const logger = recordingLogger();
  return { told, clock, logger, manager: supervisor({ host, clock, logger, env, pid: 7 }) };
}

it('reports readiness, reloads and stops', async () => {
  const { manager, told } = setUp({ NOTIFY_SOCKET: '/run/n' });
  await manager.ready('Serving');
  await manager.reloading();
  await manager.stopping();
  expect(told.map(([first]) => first)).toEqual(['--ready', 'RELOADING=1', '--ready', 'STOPPING=1']);
  expect(told[0]).toEqual(['--ready', '--status=Serving', '/run/n']);
});

it('sends two keepalives in each watchdog interval', async () => {
  const { manager, told, clock } = setUp({
    NOTIFY_SOCKET: '/run/n',
    WATCHDOG_USEC: '10000000',
    WATCHDOG_PID: '7',
  });
  await manager.ready('Serving');
  told.length = 0;
  for (let n = 0; n < 4; n += 1) await clock.advance(5000);
  expect(told.map(([first]) => first)).toEqual(Array(4).fill('WATCHDOG=1'));
});

it.each([{ WATCHDOG_USEC: '10000000', WATCHDOG_PID: '8' }, { WATCHDOG_USEC: 'x' }, {}])(
  'sends no keepalive without a watchdog: %j',
  async (env) => {
    const { manager, told, clock } = setUp({ NOTIFY_SOCKET: '/run/n', ...env });
    await manager.ready('Serving');
    await clock.advance(60_000);
    expect(told).toHaveLength(1);
  },
);

it('sends nothing without a service manager, and continues when sending fails', async () => {
  const none = setUp({});
  await none.manager.ready('Serving');
  expect(none.told).toEqual([]);
  for (const broken of [
    setUp({ NOTIFY_SOCKET: '/x', MISSING: '1' }),
    setUp({ NOTIFY_SOCKET: '/x' }, { code: 1, stdout: '', stderr: 'no' }),
  ]) {
    await broken.manager.ready('Serving');
    expect(broken.logger.lines.map(({ level }) => level)).toEqual(['warn']);
  }
});
