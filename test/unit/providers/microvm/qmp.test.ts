// The client of QEMU's monitor: against one whose words the test writes, and against QEMU itself.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { realClock } from '../../../../src/host/clock.ts';
import { Qmp } from '../../../../src/providers/microvm/qmp.ts';
import { fakeClock } from '../../../support/fakes/ports.ts';
import { itWith } from '../../../support/requires.ts';
import { GREETING, type ScriptedMonitor, scriptedMonitor } from '../../../support/scripted/monitor.ts';
import { temporaryFolder } from '../../../support/temporary.ts';
import { until } from '../../../support/until.ts';

async function opened(clock = realClock()): Promise<{ qmp: Qmp; monitor: ScriptedMonitor }> {
  const monitor = await scriptedMonitor();
  const [qmp] = await Promise.all([Qmp.open(clock, monitor.path), monitor.greet()]);
  onTestFinished(() => qmp.close());
  return { qmp, monitor };
}

it('negotiates, and matches answers to commands in any order, wherever they are cut', async () => {
  const { qmp, monitor } = await opened();
  const one = qmp.execute('query-status');
  const two = qmp.execute('human-monitor-command', { 'command-line': 'info' });
  const first = await monitor.heard();
  const second = await monitor.heard();
  expect(first).toEqual({ execute: 'query-status', id: first.id });
  expect(second.arguments).toEqual({ 'command-line': 'info' });
  const words = [{ return: 'second', id: second.id }, { event: 'STOP' }, { return: { a: 1 }, id: first.id }];
  for (const byte of words.map((word) => `${JSON.stringify(word)}\r\n`).join('')) await monitor.say(byte);
  expect(await two).toBe('second');
  expect(await one).toEqual({ a: 1 });
});

it('separates a refusal from a fault, and keeps its text for the log', async () => {
  const { qmp, monitor } = await opened();
  const asked = qmp.execute('migrate');
  const error = { class: 'GenericError', desc: `no ${'x'.repeat(5000)}` };
  await monitor.say({ error, id: (await monitor.heard()).id });
  await expect(asked).rejects.toThrow(/^migrate: GenericError: no x/);
  await asked.catch(({ message }: Error) => expect(message.length).toBeLessThan(600));
});

it('passes events to a listener until it is removed', async () => {
  const { qmp, monitor } = await opened();
  const heard: unknown[] = [];
  const stop = qmp.listen((name, fields) => heard.push([name, fields]));
  await monitor.say({ event: 'RESUME', data: { a: 1 } }, { event: 'STOP' });
  await until('two events', () => heard.length === 2);
  stop();
  const asked = qmp.execute('query-status');
  await monitor.say({ event: 'LATE' }, { return: {}, id: (await monitor.heard()).id });
  await asked;
  expect(heard).toEqual([
    ['RESUME', { a: 1 }],
    ['STOP', {}],
  ]);
});

it('gives up an unanswered command, and keeps the connection', async () => {
  const clock = fakeClock();
  const { qmp, monitor } = await opened(clock);
  const slow = qmp.execute('stop', undefined, { ms: 2000 });
  const { id } = await monitor.heard();
  const [, settled] = await Promise.all([clock.advance(2000), slow.catch((error: unknown) => error)]);
  expect(settled).toMatchObject({ code: 'unavailable', message: expect.stringContaining('within 2 s') });
  const next = qmp.execute('cont');
  await monitor.say({ return: 'late', id }, { return: 'now', id: (await monitor.heard()).id });
  expect(await next).toBe('now');
});

it('gives up on an abort with its reason, before and during the wait', async () => {
  const { qmp, monitor } = await opened();
  const stop = new AbortController();
  const asked = qmp.execute('stop', undefined, { signal: stop.signal });
  await monitor.heard();
  stop.abort(new Error('enough'));
  await expect(asked).rejects.toThrow('enough');
  await expect(qmp.execute('cont', undefined, { signal: stop.signal })).rejects.toThrow('enough');
  await expect(Qmp.open(realClock(), monitor.path, { signal: stop.signal })).rejects.toThrow('enough');
});

it.each([
  ['a line that is not JSON', 'hello\n'],
  ['a value that is not an object', '[]\n"text"\n'],
  ['an unknown message type', '{"a":1}\n'],
  ['an unexpected answer', '{"return":{},"id":77}\n'],
  ['a second greeting', `${JSON.stringify(GREETING)}\n`],
  ['an endless line', 'x'.repeat(300 * 1024)],
])('ends the connection at %s', async (_what, words) => {
  const { qmp, monitor } = await opened();
  const asked = qmp.execute('query-status');
  await Promise.all([
    monitor.say(words),
    expect(asked).rejects.toMatchObject({ code: 'provider_error' }),
    qmp.ended,
  ]);
  await expect(qmp.execute('query-status')).rejects.toMatchObject({ code: 'provider_error' });
});

it('fails waiting commands when the monitor hangs up or the connection is closed', async () => {
  const { qmp, monitor } = await opened();
  const asked = qmp.execute('quit');
  (await monitor.called).destroy();
  await expect(asked).rejects.toMatchObject({ code: 'unavailable' });
  await qmp.ended;
  const other = await opened();
  const waiting = other.qmp.execute('quit');
  other.qmp.close();
  other.qmp.close();
  await expect(waiting).rejects.toMatchObject({ code: 'unavailable' });
});

it('does not open where nobody listens or sends a greeting', async () => {
  const nowhere = join(temporaryFolder(), 'none.sock');
  await expect(Qmp.open(realClock(), nowhere)).rejects.toMatchObject({ code: 'unavailable' });
  const clock = fakeClock();
  const monitor = await scriptedMonitor();
  const open = Qmp.open(clock, monitor.path, { ms: 1000 }).catch((error: unknown) => error);
  const socket = await monitor.called;
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await clock.advance(1000);
  expect(await open).toMatchObject({ code: 'unavailable', message: expect.stringContaining('within 1 s') });
  await closed;
});

itWith(['qemu'], 'speaks with QEMU: its state, a refusal, its end', async () => {
  const path = join(temporaryFolder(), 'qmp.sock');
  const args = [
    '-M',
    'none',
    '-display',
    'none',
    '-nodefaults',
    '-S',
    '-qmp',
    `unix:${path},server=on,wait=off`,
  ];
  const qemu = spawn('qemu-system-x86_64', args, { stdio: 'ignore' });
  onTestFinished(() => void qemu.kill('SIGKILL'));
  const left = new Promise((resolve) => qemu.once('exit', resolve));
  const qmp = await until('a monitor', () => Qmp.open(realClock(), path).catch(() => undefined));
  expect(await qmp.execute('query-status')).toMatchObject({ status: 'prelaunch' });
  await expect(qmp.execute('no-such-command')).rejects.toMatchObject({ name: 'MonitorRefusal' });
  const events: string[] = [];
  qmp.listen((name) => events.push(name));
  await qmp.execute('quit');
  await Promise.all([qmp.ended, left]);
  expect(events).toContain('SHUTDOWN');
});
