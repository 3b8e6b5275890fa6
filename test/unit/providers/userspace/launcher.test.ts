// The client of the launcher, against one whose answers the test writes.
import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { openLauncher } from '../../../../src/providers/userspace/launcher.ts';
import { fakeClock } from '../../../support/fakes/ports.ts';
import { until } from '../../../support/until.ts';

const never = new AbortController().signal;

function scripted() {
  const ends = new EventEmitter();
  const starts: { stdin: PassThrough; stdout: PassThrough; killed: boolean }[] = [];
  const clock = fakeClock();
  const host = {
    accompany: () => {
      const companion = { stdin: new PassThrough(), stdout: new PassThrough(), killed: false };
      starts.push(companion);
      const ended = new Promise<void>((resolve) => ends.once('end', resolve));
      const kill = () => {
        companion.killed = true;
      };
      return { ...companion, ended, kill };
    },
  };
  const launcher = openLauncher(host, clock, async () => '/agent');
  /** The next request: its number and settings. */
  const asked = async () => {
    const { stdin } = starts.at(-1)!;
    if (stdin.readableLength === 0) await new Promise((resolve) => stdin.once('readable', resolve));
    const bytes = stdin.read() as Buffer;
    return {
      number: bytes.readUInt32LE(4),
      settings: bytes.subarray(8, 4 + bytes.readUInt32LE(0)).toString(),
    };
  };
  return { launcher, clock, starts, asked, die: () => ends.emit('end'), stdout: () => starts.at(-1)!.stdout };
}

function answer(number: number, code: number, text: string): Buffer {
  const bytes = Buffer.alloc(9 + text.length);
  bytes.writeUInt32LE(5 + text.length, 0);
  bytes.writeUInt32LE(number, 4);
  bytes.writeUInt8(code, 8);
  bytes.write(text, 9);
  return bytes;
}

it('matches answers to launches in any order and wherever they are cut', async () => {
  const { launcher, asked, stdout, starts } = scripted();
  const one = launcher.launch(Buffer.from('one'), never);
  await new Promise(setImmediate);
  const first = await asked();
  const two = launcher.launch(Buffer.from('two'), never);
  await new Promise(setImmediate);
  const second = await asked();
  expect([first.settings, second.settings]).toEqual(['one', 'two']);
  const bytes = Buffer.concat([answer(second.number, 1, 'no room'), answer(first.number, 0, 'a warning')]);
  for (const byte of bytes) stdout().write(Buffer.of(byte));
  expect(await two).toEqual({ ok: false, text: 'no room' });
  expect(await one).toEqual({ ok: true, text: 'a warning' });
  expect(starts).toHaveLength(1);
});

it('asks the launcher to give up on an abort and waits until it has', async () => {
  const { launcher, asked, stdout } = scripted();
  const abort = new AbortController();
  const launch = launcher.launch(Buffer.from('x'), abort.signal);
  await new Promise(setImmediate);
  const { number } = await asked();
  abort.abort(new Error('enough'));
  expect(await asked()).toEqual({ number, settings: '' });
  stdout().write(answer(number, 1, 'gave up'));
  await expect(launch).rejects.toThrow('enough');
});

it('fails waiting launches when the launcher dies, and starts a new one', async () => {
  const { launcher, asked, die, starts, stdout } = scripted();
  const launch = launcher.launch(Buffer.from('x'), never);
  await new Promise(setImmediate);
  await asked();
  die();
  expect(await launch).toEqual({ ok: false, text: 'the launcher ended' });
  const next = launcher.launch(Buffer.from('y'), never);
  await new Promise(setImmediate);
  stdout().write(answer((await asked()).number, 0, ''));
  expect((await next).ok).toBe(true);
  expect(starts).toHaveLength(2);
});

it('ends a silent launcher before it reports the launch as failed', async () => {
  const { launcher, clock, asked, starts, stdout, die } = scripted();
  const settled: string[] = [];
  const one = launcher.launch(Buffer.from('one'), never);
  await new Promise(setImmediate);
  await asked();
  const two = launcher.launch(Buffer.from('two'), never);
  await new Promise(setImmediate);
  const second = await asked();
  void one.then(() => settled.push('one'));
  await clock.advance(20_000);
  await new Promise(setImmediate);
  expect([starts[0]?.killed, settled]).toEqual([true, []]);
  // Said before its end, so it runs.
  stdout().write(answer(second.number, 0, ''));
  expect(await two).toEqual({ ok: true, text: '' });
  die();
  expect(await one).toEqual({ ok: false, text: 'the launcher does not answer' });
});

it('ends a launcher that sends invalid answers', async () => {
  const { launcher, asked, stdout, starts, die } = scripted();
  const launch = launcher.launch(Buffer.from('x'), never);
  await new Promise(setImmediate);
  await asked();
  stdout().write(Buffer.alloc(64, 0xff));
  await until('it is ended', () => starts[0]?.killed);
  die();
  expect(await launch).toEqual({ ok: false, text: 'the launcher does not keep to its form' });
});
