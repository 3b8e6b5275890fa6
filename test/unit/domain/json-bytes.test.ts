// JSON read from its bytes while they arrive, cut anywhere: JSON.parse is what says what they mean.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonList } from '../../../src/domain/json-list.ts';
import { JsonObject } from '../../../src/domain/json-object.ts';
import { JsonFault, JsonStructure } from '../../../src/domain/json-structure.ts';
import { JsonText } from '../../../src/domain/json-text.ts';
import { Utf8Check } from '../../../src/domain/utf8.ts';

const WIDE = { depth: 1000, tokens: 1_000_000, bytes: 1_000_000, most: 1_000_000 };
const HALF = /\p{Surrogate}/u;

/** Where a document is cut: lengths of its pieces, over and over. */
const cuts = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });

function pieces(bytes: Buffer, lengths: readonly number[]): Buffer[] {
  const all: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += all.at(-1)?.length ?? 1)
    all.push(bytes.subarray(at, at + (lengths[all.length % lengths.length] ?? 1)));
  return all;
}

/** JSON as somebody may write it: any character as an escape, blanks anywhere. */
const written = fc
  .tuple(fc.json({ stringUnit: 'binary' }), fc.infiniteStream(fc.nat(9)))
  .map(([text, chance]) => {
    const choices = chance[Symbol.iterator]();
    const often = () => (choices.next().value as number) === 0;
    return text.replaceAll(/[^\\]/gsu, (letter) =>
      often() && /[:,{}[\]]/.test(letter) ? ` ${letter}\n` : letter,
    );
  });

/** Texts of JSON with damage: a letter more, fewer or another. */
const damaged = fc
  .tuple(
    written,
    fc.nat(),
    fc.constantFrom('', '"', '\\', '{', '}', '[', ']', ',', ':', '\n', '\\u', '\\ud800', '1', 'é'),
  )
  .map(([text, place, letter]) => {
    const at = place % (text.length + 1);
    // Half a character is no UTF-8.
    return Buffer.from(text.slice(0, at) + letter + text.slice(at + 1)).toString();
  });

function outcome<T>(work: () => T): { value: T } | { fault: string } {
  try {
    return { value: work() };
  } catch (error) {
    return { fault: error instanceof JsonFault ? error.reason : `${error}` };
  }
}

const oracle = (text: string) => outcome(() => JSON.parse(text) as unknown);

describe('a text', () => {
  const letters = fc.array(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 4 }).map((text) => JSON.stringify(text).slice(1, -1)),
      fc.constantFrom(
        '\\n',
        '\\"',
        '\\\\',
        '\\/',
        '\\u00e9',
        '\\uD83D\\uDE00',
        '\\ud83d',
        '\\udc00',
        '\\u12',
        '\\x',
        '\t',
      ),
    ),
    { maxLength: 12 },
  );

  it('equals the result of JSON.parse, wherever it is cut', () => {
    fc.assert(
      fc.property(letters, cuts, (parts, lengths) => {
        const inner = parts.join('');
        const expected = outcome(() => JSON.parse(`"${inner}"`) as string);
        const heard = outcome(() => {
          const text = new JsonText();
          const bytes = Buffer.from(`${inner}"`);
          let seen = 0;
          for (const piece of pieces(bytes, lengths)) {
            const end = text.take(piece, 0);
            seen += end;
            if (end < piece.length) break;
          }
          if (seen !== bytes.length - 1) throw new JsonFault('syntax');
          return Buffer.concat(text.taken()).toString();
        });
        if (!('value' in expected)) expect(heard).toHaveProperty('fault');
        else if (HALF.test(expected.value)) expect(heard).toEqual({ fault: 'surrogate' });
        else expect(heard).toEqual(expected);
      }),
      { numRuns: 2000 },
    );
  });

  it('of megabytes is held in blocks of its own size', () => {
    const text = new JsonText();
    for (let count = 0; count < 1000; count++) text.take(Buffer.from('x\\n'.repeat(1000)), 0);
    const blocks = text.taken();
    expect(blocks.length).toBeLessThan(50);
    expect(blocks.reduce((sum, { length }) => sum + length, 0)).toBe(2_000_000);
    for (const { length } of blocks.slice(0, -1)) expect(length % 4).toBe(0);
  });
});

describe('an object', () => {
  const read = (text: string, lengths: readonly number[], names = ['content', 'é']) => {
    const object = new JsonObject(names, WIDE);
    for (const piece of pieces(Buffer.from(text), lengths)) object.take(piece);
    const value = JSON.parse(object.shell().toString()) as Record<string, unknown>;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    const lifted = names.filter((name) => Object.hasOwn(value, name) && typeof value[name] === 'string');
    for (const name of lifted) value[name] = Buffer.concat(object.text(name) ?? []).toString();
    return value;
  };

  it('with its texts extracted equals the result of JSON.parse', () => {
    const member = fc.tuple(fc.constantFrom('content', 'é', 'other', 'cont\\u0065nt', 'mode'), written);
    const objects = fc
      .array(member, { maxLength: 5 })
      .map((members) => `{${members.map(([name, value]) => `"${name}":${value}`).join(' , ')}}`);
    fc.assert(
      fc.property(fc.oneof(objects, written), cuts, (text, lengths) => {
        expect(outcome(() => read(text, lengths))).toEqual(oracle(text));
      }),
      { numRuns: 2000 },
    );
  });

  it('that is damaged is refused when JSON.parse refuses it', () => {
    const objects = damaged.map((text) => `{"content":"a\\nb","x":${text}}`);
    const inside = damaged.map((text) => `{"content":"${text}"}`);
    fc.assert(
      fc.property(fc.oneof(objects, inside, damaged), cuts, (text, lengths) => {
        const expected = oracle(text);
        const heard = outcome(() => read(text, lengths));
        if ('fault' in heard && heard.fault === 'surrogate') return;
        if ('value' in expected) expect(heard).toEqual(expected);
        else expect(heard).toHaveProperty('fault');
      }),
      { numRuns: 3000 },
    );
  });

  it.each([
    ['{"content":[{},{},{},{},{}]}', '{"content":[{},{}]}'],
    ['{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6}', '{"a":1,"b":2,"c":3}'],
    ['{"content":{"a":{"b":{"c":{}}}}}', '{"content":{"a":{"b":{}}}}'],
    ['[1,2,3,4,5,6,7,8,9]', '[1,2,3,4,5,6]'],
  ])('%s is refused during the upload, and its start stays readable', (text, beginning) => {
    const object = new JsonObject(['content'], { depth: 4, tokens: 7, bytes: 1000 });
    expect(outcome(() => object.take(Buffer.from(text)))).toEqual({ fault: 'structure' });
    expect(JSON.parse(object.beginning().toString())).toEqual(JSON.parse(beginning));
  });

  it.each([
    [`{"path":"${'x'.repeat(2000)}"}`, { path: '' }],
    [`{"a":"b","junk":"${'x'.repeat(2000)}"}`, { a: 'b', junk: '' }],
    [`"${'x'.repeat(2000)}"`, ''],
    [`{"${'x'.repeat(2000)}":1}`, {}],
  ])('limits a text that is not extracted by the bound of the object', (text, beginning) => {
    const object = new JsonObject(['content'], { depth: 4, tokens: 100, bytes: 1000 });
    expect(outcome(() => object.take(Buffer.from(text)))).toEqual({ fault: 'size' });
    expect(JSON.parse(object.beginning().toString())).toEqual(beginning);
  });

  it('keeps no more of an extracted text than its bytes', () => {
    const object = new JsonObject(['content'], { depth: 4, tokens: 100, bytes: 1000 });
    const part = Buffer.from('x'.repeat(100_000));
    object.take(Buffer.from('{"content":"'));
    for (let count = 0; count < 100; count++) object.take(part);
    object.take(Buffer.from('"}'));
    expect(object.shell().toString()).toBe('{"content":""}');
    expect(object.text('content')?.reduce((sum, { length }) => sum + length, 0)).toBe(10_000_000);
  });
});

describe('a list', () => {
  const read = (text: string, lengths: readonly number[], limits = WIDE) => {
    const elements: unknown[] = [];
    const list = new JsonList((element) => elements.push(element), limits);
    for (const piece of pieces(Buffer.from(text), lengths)) list.take(piece);
    list.end();
    return elements;
  };

  it('has the elements that JSON.parse finds', () => {
    const lists = fc.array(written).map((elements) => ` [${elements.join(',\n')}]\t`);
    fc.assert(
      fc.property(fc.oneof(lists, written, damaged), cuts, (text, lengths) => {
        const expected = oracle(text);
        const heard = outcome(() => read(text, lengths));
        if ('value' in expected && Array.isArray(expected.value)) expect(heard).toEqual(expected);
        else expect(heard).toHaveProperty('fault');
      }),
      { numRuns: 3000 },
    );
  });

  const few = { most: 3, bytes: 20, depth: 2, tokens: 6 };
  it.each([
    ['[1,2,3,4]', 'size'],
    [`["${'x'.repeat(30)}"]`, 'size'],
    ['[[[[1]]]]', 'structure'],
    ['[{"a":1,"b":2,"c":3}]', 'structure'],
    ['{"a":1}', 'kind'],
    ['"a"', 'kind'],
    ['[1}', 'syntax'],
    ['[1', 'syntax'],
    ['[1]]', 'syntax'],
    ['[1,]', 'syntax'],
    ['', 'syntax'],
  ])('%s is refused: %s', (text, fault) => {
    expect(outcome(() => read(text, [3], few))).toEqual({ fault });
  });

  it('counts each element separately', () => {
    expect(read('[{"a":1},{"a":1},{"a":1}]', [4], few)).toHaveLength(3);
  });
});

it('structure is counted only outside of texts, wherever it is cut', () => {
  fc.assert(
    fc.property(fc.jsonValue(), cuts, (value, lengths) => {
      const text = JSON.stringify(value);
      const structure = new JsonStructure(WIDE);
      for (const piece of pieces(Buffer.from(text), lengths)) structure.take(piece);
      const bare = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '');
      expect([structure.depth, structure.tokens]).toEqual([0, bare.replaceAll(/[^[\]{},:]/g, '').length]);
    }),
  );
});

it('bytes in pieces are UTF-8 exactly when they are so together', () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 12 }).map((all) => Buffer.from(all)),
    fc.string({ unit: 'binary', maxLength: 6 }).map((text) => Buffer.from(text)),
  );
  fc.assert(
    fc.property(bytes, cuts, (all, lengths) => {
      const check = new Utf8Check();
      const isValid = pieces(all, lengths).every((piece) => check.take(piece)) && check.end();
      expect(isValid).toBe(Buffer.from(all.toString()).equals(all));
    }),
    { numRuns: 2000 },
  );
});
