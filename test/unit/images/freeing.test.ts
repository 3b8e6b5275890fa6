// Memory of chunks that were used: freed where nobody else has it, and nothing else of the stream changes.
import { randomBytes } from 'node:crypto';
import { PassThrough, Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { freeing } from '../../../src/images/freeing.ts';

const CHUNK = 512 * 1024;

/** Takes what it gets a turn later, as pipes do. */
function taken(parts: Buffer[]): Writable {
  return new Writable({
    write(chunk: Buffer, _, done) {
      parts.push(Buffer.from(chunk));
      setImmediate(done);
    },
  });
}

test('a large chunk has no memory after it was used, and arrives whole', async () => {
  const bytes = randomBytes(2 * CHUNK);
  const chunks = [Buffer.from(bytes.subarray(0, CHUNK)), Buffer.from(bytes.subarray(CHUNK))];
  const parts: Buffer[] = [];
  await pipeline(Readable.from([...chunks]), freeing(taken(parts)));
  expect(Buffer.concat(parts).equals(bytes)).toBe(true);
  expect(chunks.map(({ byteLength }) => byteLength)).toEqual([0, 0]);
});

test('small chunks, and those before the end of a shared buffer, keep their memory', async () => {
  const small = Buffer.alloc(1024, 1);
  const shared = Buffer.alloc(CHUNK, 2);
  await pipeline(Readable.from([small, shared.subarray(0, CHUNK / 2)]), freeing(taken([])));
  expect(small[0]).toBe(1);
  expect(shared.byteLength).toBe(CHUNK);
});

test.each([1000, 64 * 1024, 3 * CHUNK])(
  'what was packed comes out whole: input in chunks of %d',
  async (size) => {
    const bytes = Buffer.concat(Array.from({ length: 40 }, () => Buffer.alloc(100_000, randomBytes(2000))));
    const packed = gzipSync(bytes);
    const pieces = Array.from({ length: Math.ceil(packed.length / size) }, (_, at) =>
      Buffer.from(packed.subarray(at * size, (at + 1) * size)),
    );
    const gunzip = createGunzip({ chunkSize: CHUNK });
    const parts: Buffer[] = [];
    await Promise.all([
      pipeline(Readable.from(pieces), freeing(gunzip)),
      pipeline(gunzip, freeing(taken(parts))),
    ]);
    expect(Buffer.concat(parts).equals(bytes)).toBe(true);
  },
);

test('what `look` throws ends both sides', async () => {
  const source = Readable.from([Buffer.alloc(10)]);
  const target = taken([]);
  const refused = new Error('refused');
  const refusing = freeing(target, () => {
    throw refused;
  });
  await expect(pipeline(source, refusing)).rejects.toBe(refused);
  expect([source.destroyed, target.destroyed]).toEqual([true, true]);
});

test('a source that fails destroys the target', async () => {
  const target = taken([]);
  target.on('error', () => undefined);
  const source = new PassThrough();
  const done = pipeline(source, freeing(target));
  source.destroy(new Error('broken'));
  await expect(done).rejects.toThrow('broken');
  expect(target.destroyed).toBe(true);
});

test('a target that fails or closes early ends the source', async () => {
  const failing = new Writable({ write: (_chunk, _, done) => done(new Error('full')) });
  const source = Readable.from([Buffer.alloc(10), Buffer.alloc(10)]);
  await expect(pipeline(source, freeing(failing))).rejects.toThrow('full');
  expect(source.destroyed).toBe(true);
  const closing = taken([]);
  const endless = new PassThrough();
  const done = pipeline(endless, freeing(closing));
  closing.destroy();
  await expect(done).rejects.toThrow('Premature close');
  expect(endless.destroyed).toBe(true);
});
