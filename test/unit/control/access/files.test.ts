// File operations: ranges, lengths that hold whatever the file does, hostile paths and modes.
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { ServiceError } from '../../../../src/domain/errors.ts';
import { api, forever, roomy, world } from '../../../support/servers/control.ts';

async function setUp(files: Record<string, string | Buffer> = {}) {
  const w = world();
  const { id } = await w.control.sandboxes.spawn({}, api, {}, forever);
  for (const [path, content] of Object.entries(files)) w.fake.of(id).files.set(path, Buffer.from(content));
  return { ...w, w, id, files: w.control.files };
}
const failed = (promise: Promise<unknown>) => promise.catch((error: unknown) => error);
const fileEvents = async (w: { events(): Promise<{ type: string; data?: object }[]> }) =>
  (await w.events())
    .filter(({ type }) => !type.startsWith('sandbox.'))
    .map(({ type, data }) => ({ type, ...data }));

describe('reading', () => {
  it('a complete file, with its length and its event', async () => {
    const { w, id, files } = await setUp({ '/a/b': 'hello' });
    const read = await files.read(id, '/a/./b', undefined, api, forever);
    expect(read).toMatchObject({ length: 5, info: { path: '/a/b', size: 5 } });
    expect(read).not.toHaveProperty('range');
    expect((await buffer(read.content)).toString()).toBe('hello');
    expect(await fileEvents(w)).toEqual([{ type: 'file.read', path: '/a/b', size: 5 }]);
  });

  it.each([
    [{ first: 1, last: 3 }, 'ell', { first: 1, last: 3 }],
    [{ first: 3 }, 'lo', { first: 3, last: 4 }],
    [{ suffix: 2 }, 'lo', { first: 3, last: 4 }],
    [{ first: 0, last: 99 }, 'hello', { first: 0, last: 4 }],
  ])('%j', async (range, text, span) => {
    const { id, files } = await setUp({ '/f': 'hello' });
    const read = await files.read(id, '/f', range, api, forever);
    expect(read).toMatchObject({ range: span, length: text.length, info: { size: 5 } });
    expect((await buffer(read.content)).toString()).toBe(text);
  });

  it('a range outside the file answers 416', async () => {
    const { id, files } = await setUp({ '/f': 'hello' });
    expect(await failed(files.read(id, '/f', { first: 5 }, api, forever))).toMatchObject({
      code: 'bad_request',
      status: 416,
    });
  });

  it('a file of reported size 0 with content gets its real length', async () => {
    const { w, id, files } = await setUp({ '/proc/x': 'kernel text', '/empty': '' });
    const { sessions } = w.fake.of(id);
    await files.stat(id, '/proc/x', api, forever);
    for (const io of sessions) {
      const { read } = io.files;
      io.files.read = async (...asked) => {
        const { info, content } = await read(...asked);
        return { info: { ...info, size: 0 }, content };
      };
    }
    const read = await files.read(id, '/proc/x', undefined, api, forever);
    expect(read.length).toBe(11);
    expect((await buffer(read.content)).toString()).toBe('kernel text');
    expect((await files.read(id, '/empty', undefined, api, forever)).length).toBe(0);
  });

  it.each([
    ['longer', 'hello and more', 'hello'],
    ['shorter', 'hel', 'conflict'],
  ])(
    'a file that became %s during a read never changes its announced length',
    async (_name, now, outcome) => {
      const { w, id, files } = await setUp({ '/f': 'hello' });
      await files.stat(id, '/f', api, forever);
      for (const io of w.fake.of(id).sessions) {
        const { read } = io.files;
        io.files.read = async (...asked) => ({
          ...(await read(...asked)),
          content: Readable.from([Buffer.from(now)]),
        });
      }
      const { content, length } = await files.read(id, '/f', undefined, api, forever);
      expect(length).toBe(5);
      const got = await buffer(content).catch((error: ServiceError) => error);
      expect(got instanceof ServiceError ? got.code : got.toString()).toBe(outcome);
    },
  );

  it('an unread file ends the work in the sandbox when it is closed', async () => {
    const { w, id, files } = await setUp({ '/f': 'hello' });
    const inner = Readable.from([Buffer.from('hello')]);
    await files.stat(id, '/f', api, forever);
    for (const io of w.fake.of(id).sessions) {
      const { stat } = io.files;
      io.files.read = async (path) => ({ info: await stat(path), content: inner });
    }
    const { content } = await files.read(id, '/f', undefined, api, forever);
    inner.destroy(new Error('lost'));
    content.destroy();
    await w.clock.advance(0);
    expect(inner.destroyed).toBe(true);
  });
});

describe('writing', () => {
  it('from a buffer and from a stream', async () => {
    const { w, id, files } = await setUp();
    expect(await files.write(id, '/a//b', Buffer.from('one'), { mode: '600' }, api, forever)).toEqual({
      ...{ status: 'written', path: '/a/b', size: 3, atomic: true },
    });
    await files.write(id, '/s', Readable.from([Buffer.from('two '), Buffer.from('parts')]), {}, api, forever);
    expect(w.fake.of(id).files.get('/s')?.toString()).toBe('two parts');
    expect(await fileEvents(w)).toMatchObject([
      { type: 'file.written', path: '/a/b', size: 3 },
      { path: '/s', size: 9 },
    ]);
  });

  it('a body that breaks off fails and leaves no file', async () => {
    const { w, id, files } = await setUp();
    const body = Readable.from(
      (async function* () {
        yield Buffer.from('x');
        throw new ServiceError('payload_too_large', 'Too large.');
      })(),
    );
    expect(await failed(files.write(id, '/s', body, {}, api, forever))).toMatchObject({
      code: 'payload_too_large',
    });
    expect(w.fake.of(id).files.size).toBe(0);
    expect(await fileEvents(w)).toMatchObject([
      { type: 'operation.failed', operation: 'file.write', provider: 'userspace' },
    ]);
  });
});

describe('every operation', () => {
  it('succeeds', async () => {
    const { id, files } = await setUp({ '/a': 'x' });
    await files.move(id, '/a', '/b', api, forever);
    expect(await files.stat(id, '/b', api, forever)).toMatchObject({ path: '/b', size: 1 });
    await files.chmod(id, '/b', '755', api, forever);
    await files.mkdir(id, '/d', { parents: true }, api, forever);
    expect(await files.list(id, '/', 1, api, forever, roomy)).toHaveLength(1);
    expect(await files.glob(id, '/*', api, forever, roomy)).toEqual(['/b']);
    await files.remove(id, '/b', false, api, forever);
    expect(await failed(files.stat(id, '/b', api, forever))).toMatchObject({ code: 'not_found' });
  });

  it.each(['relative', '', '/a\0', `/${'x'.repeat(5000)}`])('refuses the path %j', async (path) => {
    const { w, id, files } = await setUp();
    const calls = [
      files.read(id, path, undefined, api, forever),
      files.write(id, path, Buffer.alloc(0), {}, api, forever),
      files.stat(id, path, api, forever),
      files.list(id, path, 1, api, forever, roomy),
      files.glob(id, path, api, forever, roomy),
      files.move(id, path, '/x', api, forever),
      files.move(id, '/x', path, api, forever),
      files.chmod(id, path, '644', api, forever),
      files.mkdir(id, path, { parents: true }, api, forever),
      files.remove(id, path, true, api, forever),
    ];
    for (const outcome of await Promise.all(calls.map(failed)))
      expect(outcome).toMatchObject({ code: 'bad_request' });
    expect(w.provider.calls.attach).toBe(0);
  });

  it.each(['9', '0o644', '77777', 'rwx'])('refuses the mode %j', async (mode) => {
    const { id, files } = await setUp();
    const calls = [
      files.write(id, '/x', Buffer.alloc(0), { mode }, api, forever),
      files.chmod(id, '/x', mode, api, forever),
      files.mkdir(id, '/x', { mode, parents: true }, api, forever),
    ];
    for (const outcome of await Promise.all(calls.map(failed)))
      expect(outcome).toMatchObject({ code: 'bad_request' });
  });
});
