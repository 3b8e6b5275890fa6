// What was removed is counted by place and rule, and the same value has one name.
import { expect, it } from 'vitest';
import { redactor } from '../../../src/redact/engine.ts';
import { redactionLedger } from '../../../src/redact/ledger.ts';

it('gives one value the same pseudonym in every form and position', () => {
  const ledger = redactionLedger();
  const { value } = redactor({ secrets: ['hunter22-hunter22'], mark: ledger.mark });
  const base64 = Buffer.from('hunter22-hunter22').toString('base64').slice(0, 22);
  const copy = value({
    a: { text: 'x hunter22-hunter22 y' },
    list: [{ line: `is ${base64}` }, { line: 'is hunter22-hunter22' }],
    password: 'hunter22-hunter22',
    url: 'https://me:other-secret@example.com',
    query: '?token=other',
    again: "token='other'",
  });
  expect(copy).toEqual({
    a: { text: 'x [redacted-1] y' },
    list: [{ line: 'is [redacted-1]' }, { line: 'is [redacted-1]' }],
    password: '[redacted-1]',
    url: 'https://[redacted-2]@example.com',
    query: '?token=[redacted-3]',
    again: "token=[redacted-3]'",
  });
  expect(ledger.entries()).toEqual([
    { place: 'a.text', rule: 'known', count: 1, pseudonyms: ['[redacted-1]'] },
    { place: 'again', rule: 'assignment', count: 1, pseudonyms: ['[redacted-3]'] },
    { place: 'list.line', rule: 'known', count: 2, pseudonyms: ['[redacted-1]'] },
    { place: 'password', rule: 'key', count: 1, pseudonyms: ['[redacted-1]'] },
    { place: 'query', rule: 'assignment', count: 1, pseudonyms: ['[redacted-3]'] },
    { place: 'url', rule: 'url-credentials', count: 1, pseudonyms: ['[redacted-2]'] },
  ]);
});

it('names at most ten pseudonyms for each path', () => {
  const ledger = redactionLedger();
  const { text } = redactor({ secrets: [], mark: ledger.mark });
  text(Array.from({ length: 30 }, (_, n) => `token=secret${n}`).join('\n'));
  expect(ledger.entries()).toMatchObject([{ count: 30 }]);
  expect(ledger.entries()[0]?.pseudonyms).toHaveLength(10);
});

it('removes nothing of its own marks in a second pass', () => {
  const ledger = redactionLedger();
  const { text } = redactor({ secrets: [], mark: ledger.mark });
  const once = text('Authorization: Bearer abcdef123456 token=abc https://u:p@h/ password: "x y"');
  expect(text(once)).toBe(once);
});
