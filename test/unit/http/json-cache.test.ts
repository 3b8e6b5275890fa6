// JSON that is kept: it must be what JSON.stringify would say, and kept only of what cannot change.
import { expect, it } from 'vitest';
import { cachedJson } from '../../../src/http/json-cache.ts';
import { listPieces } from '../../../src/http/pieces.ts';

const text = (answer: object) =>
  Array.isArray(answer) ? Buffer.concat([...listPieces(answer, cachedJson)]).toString() : cachedJson(answer);

it('equals JSON.stringify, also the second time', () => {
  const parts = [{ a: 1 }, Object.freeze({ b: 'é€😀"\\' }), Object.freeze({ c: undefined }), {}];
  for (const answer of [...parts, [], parts.slice(0, 1), parts, parts])
    expect(text(answer)).toBe(JSON.stringify(answer));
});

it('caches the text of frozen values only', () => {
  const open = { a: 1 };
  expect(text([open])).toBe('[{"a":1}]');
  open.a = 2;
  expect(text([open])).toBe('[{"a":2}]');
  let asked = 0;
  const toJSON = () => {
    asked += 1;
    return { asked };
  };
  const counting = Object.freeze({ toJSON });
  expect([text(counting), text(counting), text([counting])]).toEqual([
    '{"asked":1}',
    '{"asked":1}',
    '[{"asked":1}]',
  ]);
});
