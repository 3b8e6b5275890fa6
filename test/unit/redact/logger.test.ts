// One line is one object, nothing secret is in it, and a reader that stops does not stop the service.
import { expect, it } from 'vitest';
import { redactor } from '../../../src/redact/engine.ts';
import { type LogOptions, openLog } from '../../../src/redact/logger.ts';
import { fakeClock } from '../../support/fakes/ports.ts';

function setUp(options: Partial<LogOptions> = {}) {
  const written: string[] = [];
  const log = openLog({
    level: 'info',
    format: 'json',
    redactor: redactor({ secrets: ['canary-one'] }),
    clock: fakeClock(),
    sink: async (text) => void written.push(text),
    ...options,
  });
  const lines = async () => {
    await log.close();
    return written.join('').trimEnd().split('\n');
  };
  return { ...log, written, lines };
}

it('writes one JSON object for each line', async () => {
  const { logger, lines } = setUp();
  logger.info({ request_id: 'r', n: 1 }, 'hello\nthere');
  logger.child({ part: 'x' }).error({ err: new Error('boom') }, 'failed');
  const [first, second, ...more] = (await lines()).map((line) => JSON.parse(line));
  expect(first).toEqual({
    level: 'info',
    time: '2026-01-02T03:04:05.000Z',
    request_id: 'r',
    n: 1,
    message: 'hello\nthere',
  });
  expect(second).toMatchObject({
    level: 'error',
    part: 'x',
    err: { name: 'Error', message: 'boom' },
    message: 'failed',
  });
  expect(more).toEqual([]);
});

it('redacts messages, fields, children and errors', async () => {
  const { logger, lines } = setUp();
  const child = logger.child({ api_key: 'canary-two', note: 'canary-one' });
  child.warn(
    { url: 'http://u:canary-three@h/', err: new Error('token=canary-four') },
    'saw canary-one, Bearer canary-five',
  );
  const text = (await lines()).join('');
  expect(text).toContain('[redacted]');
  expect(text).not.toContain('canary');
});

it('a changed level applies to all loggers', async () => {
  const { logger, lines, setLevel } = setUp();
  const child = logger.child({});
  child.debug({}, 'no');
  setLevel('debug');
  child.debug({}, 'yes');
  setLevel('error');
  logger.warn({}, 'no');
  expect((await lines()).map((line) => JSON.parse(line).message)).toEqual(['yes']);
});

it('keeps control characters out of both formats', async () => {
  for (const format of ['json', 'pretty'] as const) {
    const { logger, lines } = setUp({ format });
    logger.info({ 'k\x1b': 'v\x9b31m\u2028', path: 'a b\u202e' }, 'm\x1b[2J\r\nforged\x7f');
    const [line = '', ...more] = await lines();
    expect(more).toEqual([]);
    expect(line).not.toMatch(/[\p{Cc}\u2028\u202e]/u);
    if (format === 'json') expect(JSON.parse(line)).toMatchObject({ message: 'm\x1b[2J\r\nforged\x7f' });
  }
});

it('writes a format for people', async () => {
  const { logger, lines } = setUp({ format: 'pretty' });
  logger.warn({ id: 'sb-1', note: 'two words', deep: { a: 1 } }, 'It happened.');
  expect(await lines()).toEqual(['03:04:05.000 warn  It happened. id=sb-1 note="two words" deep={"a":1}']);
  const coloured = setUp({ format: 'pretty', coloured: true });
  coloured.logger.info({}, 'x');
  expect((await coloured.lines())[0]).toContain('\x1b[36minfo \x1b[0m');
});

it('a field cannot replace a field of the line itself', async () => {
  const { logger, lines } = setUp();
  logger.info({ level: 'error', message: 'forged', time: 'never' }, 'real');
  const [line = ''] = await lines();
  expect(JSON.parse(line)).toMatchObject({ level: 'info', message: 'real', field_message: 'forged' });
  expect(line.match(/"level"/g)).toHaveLength(1);
});

it('survives any logged value', async () => {
  const { logger, lines } = setUp();
  const loop: Record<string, unknown> = {
    toJSON: () => {
      throw new Error('no');
    },
  };
  loop.self = loop;
  for (const fields of [
    loop,
    [],
    new Proxy({}, {}),
    Object.create(null),
    { big: 1n, sym: Symbol('x'), toString: null },
  ])
    logger.info(fields, 'x');
  for (const line of await lines()) expect(() => JSON.parse(line)).not.toThrow();
});

it('drops lines for a reader that stops, and reports the loss', async () => {
  let release = () => {};
  const stuck = new Promise<void>((resolve) => {
    release = resolve;
  });
  const written: string[] = [];
  const { logger, close } = setUp({
    maxWaiting: 20_000,
    sink: async (text) => {
      await stuck;
      written.push(text);
    },
  });
  for (let at = 0; at < 10_000; at++) logger.info({ at }, 'line');
  expect(written).toEqual([]);
  release();
  await close();
  const lines = written
    .join('')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const { dropped } = lines.at(-1);
  expect(dropped).toBeGreaterThan(9000);
  expect(lines.slice(0, -1).map(({ at }) => at)).toEqual(
    Array.from({ length: 10_000 - dropped }, (_, at) => at),
  );
});

it('closing waits for a stuck reader only for a limited time', async () => {
  const clock = fakeClock();
  const { logger, close } = setUp({ clock, sink: () => new Promise(() => {}) });
  logger.info({}, 'x');
  const closing = close(500);
  await clock.advance(500);
  await expect(closing).resolves.toBeUndefined();
});

it('a reader that has ended is given up', async () => {
  let calls = 0;
  const { logger, close } = setUp({
    sink: async () => {
      calls += 1;
      throw new Error('EPIPE');
    },
  });
  for (let at = 0; at < 100; at++) logger.info({}, 'x');
  await close();
  logger.info({}, 'x');
  await close();
  expect(calls).toBe(1);
});
