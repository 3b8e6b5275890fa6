// Whether a request may have had an effect is told by where it failed, not by what the failure is called.
import { expect, it } from 'vitest';
import { hadNoEffect, markUnopened, transportFault } from '../../../../src/providers/outgoing/faults.ts';

const failure = (code: string, more: object = {}) => Object.assign(new Error('x'), { code, ...more });

it.each(['ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC', 'EPROTO', 'ECONNRESET', 'UND_ERR_SOCKET'])(
  '%s may have had an effect on an open connection, and none on one that never opened',
  (code) => {
    const [after, before] = [failure(code), failure(code)];
    markUnopened(before);
    expect(hadNoEffect(transportFault('It', after))).toBe(false);
    expect(hadNoEffect(transportFault('It', before))).toBe(true);
  },
);

it('reads the error of the first of several addresses, and the facts of all', () => {
  const several = failure('', { errors: [failure('ECONNREFUSED', { syscall: 'connect' })] });
  expect(hadNoEffect(transportFault('It', several))).toBe(true);
  const marked = failure('', { errors: [failure('EPROTO')] });
  expect(hadNoEffect(transportFault('It', marked))).toBe(false);
  markUnopened(marked);
  expect(hadNoEffect(transportFault('It', marked))).toBe(true);
});
