// Cursors of lists of images: what is written is read back, and nothing else is.
import { expect, it } from 'vitest';
import { formatImageCursor, parseImageCursor } from '../../../../src/control/system/image-cursor.ts';

const packed = (text: string) => Buffer.from(text).toString('base64url');

it('reads what it wrote', () => {
  const position = { reference: 'docker.io/team/tool:1', worker_id: 'w1' };
  expect(parseImageCursor(formatImageCursor(position))).toEqual(position);
});

it.each([
  ['nothing', ''],
  ['a NUL', '\0'],
  ['other text', '0'],
  ['one word', packed('docker.io/team/tool:1')],
  ['three words', packed('docker.io/team/tool:1 w1 w2')],
  ['a line break', packed('docker.io/team/tool:1 w1\n')],
  ['padding', `${packed('a b')}=`],
  ['left-over bits', `${packed('a bc').slice(0, -1)}x`],
])('refuses %s', (_name, text) => {
  expect(() => parseImageCursor(text)).toThrow(expect.objectContaining({ code: 'bad_request' }));
});
