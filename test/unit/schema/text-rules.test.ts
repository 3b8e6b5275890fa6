// What the description says of texts, held against what reads them.
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { signalNumber } from '../../../src/agent/signals.ts';
import { formatImageCursor, parseImageCursor } from '../../../src/control/system/image-cursor.ts';
import { formatCursor, parseCursor } from '../../../src/domain/cursor.ts';
import { parseDuration, parseFineDuration } from '../../../src/domain/duration.ts';
import { parseImage } from '../../../src/domain/image.ts';
import { parseOwner } from '../../../src/domain/owner.ts';
import { strictBase64 } from '../../../src/http/body/base64.ts';
import { SIGNAL_NAME } from '../../../src/schema/signals.ts';
import {
  BASE64,
  Cursor,
  Duration,
  FineDuration,
  Image,
  ImageCursor,
  Owner,
} from '../../../src/schema/text-rules.ts';

const patternOf = (rules: object) => new RegExp((rules as { pattern: string }).pattern, 'u');
const isTaken = (read: () => unknown) => {
  try {
    read();
    return true;
  } catch {
    return false;
  }
};

const generatedCursor = new RegExp(
  readFileSync(new URL('../../../proof/schemathesis/cursor-pattern.txt', import.meta.url), 'utf8').trim(),
  'u',
);

describe.each([
  ['durations', patternOf(Duration), (text: string) => parseDuration(text, 'ttl')],
  ['fine durations', patternOf(FineDuration), (text: string) => parseFineDuration(text, 'timeout')],
  ['owners', patternOf(Owner), (text: string) => parseOwner(text, 'owner')],
  ['images', patternOf(Image), (text: string) => parseImage(text, 'image')],
  ['base64', new RegExp(BASE64, 'u'), (text: string) => strictBase64(text, 'content')],
  ['signals', new RegExp(SIGNAL_NAME, 'u'), (text: string) => signalNumber(signalOf(text))],
  // The pattern that schemathesis generates cursors from; the description shows a simpler one.
  ['generated cursors', generatedCursor, (text: string) => parseCursor(text)],
  ['generated cursors of images', generatedCursor, (text: string) => parseImageCursor(text)],
] as const)('the pattern of %s', (_name, pattern, read) => {
  it('allows nothing that the server refuses', () => {
    fc.assert(
      fc.property(fc.stringMatching(new RegExp(pattern.source, pattern.flags)), (text) => {
        expect(
          isTaken(() => read(text)),
          JSON.stringify(text),
        ).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });
});

const signalOf = (text: string) => `SIG${text.toUpperCase().replace(/^SIG/, '')}`;

it.each(['0s', '90s', '1h30m', '24h', '8760h', '525600m', '31536000s', '100h5m7s'])(
  'allows the duration %s',
  (text) => {
    expect(patternOf(Duration).test(text)).toBe(true);
    expect(isTaken(() => parseDuration(text, 'ttl'))).toBe(true);
  },
);

it.each(['8761h', '525601m', '31536001s', '1m1h', '', '1.5s', '500ms', '8760h1s'])(
  'does not allow the duration %j',
  (text) => {
    expect(patternOf(Duration).test(text)).toBe(false);
    expect(isTaken(() => parseDuration(text, 'ttl'))).toBe(false);
  },
);

it('the server accepts every character that the description allows in an owner', () => {
  const owner = patternOf(Owner);
  const differs: string[] = [];
  for (let code = 0; code <= 0x10ffff; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const text = `a${String.fromCodePoint(code)}b`;
    if (owner.test(text) && !isTaken(() => parseOwner(text, 'owner'))) differs.push(code.toString(16));
  }
  expect(differs).toEqual([]);
});

it('allows every cursor that the server issues', () => {
  const stamps = fc.date({ min: new Date('0000-01-01'), max: new Date('9999-12-31'), noInvalidDate: true });
  const id = fc.oneof(
    fc.string({ minLength: 1 }),
    fc.constant('sb-abc'),
    fc.string({ unit: 'grapheme', minLength: 1 }),
  );
  fc.assert(
    fc.property(stamps, id, (stamp, name) => {
      const text = formatCursor({ created_at: stamp.toISOString(), id: name });
      expect(patternOf(Cursor).test(text), text).toBe(true);
    }),
  );
  fc.assert(
    fc.property(stamps, fc.integer({ min: 0, max: 999_999_999_999_999 }), (stamp, number) => {
      const text = formatCursor({ created_at: stamp.toISOString(), id: String(number) });
      expect(patternOf(Cursor).test(text), text).toBe(true);
      expect(generatedCursor.test(text), text).toBe(true);
    }),
  );
});

it('allows every cursor of images that the server issues', () => {
  const word = fc.stringMatching(/^[!-~]{1,128}$/);
  fc.assert(
    fc.property(word, word, (reference, worker_id) => {
      expect(patternOf(ImageCursor).test(formatImageCursor({ reference, worker_id }))).toBe(true);
    }),
  );
});

it('generates only cursors whose ids are numbers, which every list accepts', () => {
  fc.assert(
    fc.property(fc.stringMatching(generatedCursor), (text) => {
      expect(parseCursor(text).id).toMatch(/^\d{1,15}$/);
    }),
  );
});
