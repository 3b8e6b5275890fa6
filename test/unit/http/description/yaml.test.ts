// Our YAML says what the JSON says, to a reader that is not ours.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { toYaml } from '../../../../src/http/description/yaml.ts';

it('reads back as the same value', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue({ depthSize: 'medium' }), { maxKeys: 8 }),
      (value) => {
        const plain = JSON.parse(JSON.stringify(value)) as object;
        expect(parse(toYaml(plain))).toEqual(plain);
      },
    ),
    { numRuns: 1_000 },
  );
});

it.each(['no', 'y', 'Null', '1', '1.5', '0x1', '~', 'a: b', '- a', '#', '{}', '<<', '2001-01-01', ''])(
  'keeps the key and text %j',
  (text) => {
    expect(parse(toYaml({ [text]: text, list: [text, [text], { [text]: [text] }, [], {}] }))).toEqual({
      [text]: text,
      list: [text, [text], { [text]: [text] }, [], {}],
    });
  },
);
