// Finding the answer of the agent between leftovers: only a whole frame with our nonce and our tag is one.
import { expect, test } from 'vitest';
import { encodeFrame } from '../../../src/agent/frame.ts';
import { WelcomeSearch } from '../../../src/agent/handshake.ts';
import { TYPE } from '../../../src/agent/protocol.ts';
import { WireWriter } from '../../../src/agent/wire.ts';

const nonce = Buffer.from('0123456789abcdef');
const [TAG, OTHER] = [0x01020304, 0x05060708];

function welcome(tag = TAG, type: number = TYPE.WELCOME, mark = nonce): Buffer {
  const payload = new WireWriter().raw(mark).u8(1).str('build').u64(5n).bytes();
  return encodeFrame({ type, stream: 0, tag }, payload);
}

const found = { version: 1, build: 'build', boot: 5n, capabilities: 0 };

test.each([
  ['with another tag', welcome(OTHER)],
  ['of another type', welcome(TAG, TYPE.RESULT)],
  ['with another nonce', welcome(TAG, TYPE.WELCOME, Buffer.alloc(16, 1))],
  ['that is only our own nonce', nonce],
])('a frame %s is skipped, and the welcome behind it is found', (_, wrong) => {
  const search = new WelcomeSearch(nonce, TAG);
  expect(search.push(wrong)).toBeUndefined();
  expect(search.push(Buffer.concat([Buffer.alloc(50, 7), welcome(), Buffer.from('rest')]))).toEqual({
    ...found,
    rest: Buffer.from('rest'),
  });
});

test('the welcome lists the capabilities of the agent; an older agent lists none', () => {
  const payload = new WireWriter().raw(nonce).u8(1).str('build').u64(5n).u32(1).bytes();
  const frame = encodeFrame({ type: TYPE.WELCOME, stream: 0, tag: TAG }, payload);
  expect(new WelcomeSearch(nonce, TAG).push(frame)).toMatchObject({ capabilities: 1 });
  expect(new WelcomeSearch(nonce, TAG).push(welcome())).toMatchObject({ capabilities: 0 });
});

test('the welcome is found byte by byte', () => {
  const search = new WelcomeSearch(nonce, TAG);
  const bytes = Buffer.concat([Buffer.from('old rubbish'), welcome()]);
  const answers = [...bytes].map((byte) => search.push(Buffer.from([byte])));
  expect(answers.slice(0, -1).every((answer) => answer === undefined)).toBe(true);
  expect(answers.at(-1)).toMatchObject(found);
});

test('the search gives up after a mebibyte', () => {
  const search = new WelcomeSearch(nonce, TAG);
  search.push(Buffer.alloc(1024 * 1024));
  expect(search.isExhausted).toBe(false);
  search.push(Buffer.alloc(1));
  expect(search.isExhausted).toBe(true);
});
