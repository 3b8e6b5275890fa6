// Secrets that come while the server runs.
import { expect, it } from 'vitest';
import { growingRedactor } from '../../../src/redact/growing.ts';

it('masks added and initial secrets', () => {
  const redactor = growingRedactor(['first-canary']);
  redactor.add(['second-canary']);
  expect(redactor.text('first-canary second-canary third')).toBe('[redacted] [redacted] third');
  expect(redactor.value({ note: 'second-canary', first: 'first-canary' })).toEqual({
    note: '[redacted]',
    first: '[redacted]',
  });
});
