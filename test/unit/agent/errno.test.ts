// Error numbers in our words, signals by name, stamps in range.
import { expect, test } from 'vitest';
import { ERRNO, errnoError } from '../../../src/agent/errno.ts';
import { signalName, signalNumber } from '../../../src/agent/signals.ts';
import { stamp } from '../../../src/agent/stamp.ts';

test.each([
  ['ENOENT', 'not_found', 404],
  ['EACCES', 'forbidden', 403],
  ['EPERM', 'forbidden', 403],
  ['EROFS', 'forbidden', 403],
  ['ENOTEMPTY', 'conflict', 409],
  ['EEXIST', 'conflict', 409],
  ['EBUSY', 'conflict', 409],
  ['ENOSPC', 'resource_limit', 507],
  ['EDQUOT', 'resource_limit', 507],
  ['EFBIG', 'resource_limit', 507],
  ['ENOTDIR', 'bad_request', 400],
  ['EISDIR', 'bad_request', 400],
  ['ENXIO', 'bad_request', 400],
  ['EINVAL', 'bad_request', 400],
  ['ENAMETOOLONG', 'bad_request', 400],
  ['ELOOP', 'bad_request', 400],
  ['E2BIG', 'bad_request', 400],
  ['ECONNREFUSED', 'unavailable', 502],
  ['EAGAIN', 'resource_limit', 429],
] as const)('%s is %s %i', (name, code, status) => {
  expect(errnoError(ERRNO[name], 'secret /host/path')).toMatchObject({ code, status });
});

test('an unknown number is provider_error, and the text of the sandbox stays private', () => {
  const error = errnoError(9999, 'secret '.repeat(1000));
  expect(error.code).toBe('provider_error');
  expect(`${error.message}${error.remedy}${JSON.stringify(error.details)}`).not.toContain('secret');
  expect((error.cause as Error).message.length).toBeLessThan(300);
});

test('signals have the names and numbers of Linux', () => {
  for (const [name, number] of [
    ['SIGHUP', 1],
    ['SIGKILL', 9],
    ['SIGTERM', 15],
    ['SIGCHLD', 17],
    ['SIGWINCH', 28],
    ['SIGSYS', 31],
  ] as const) {
    expect([signalName(number), signalNumber(name)]).toEqual([name, number]);
  }
  expect(signalName(35)).toBe('SIGRTMIN+1');
  expect(() => signalNumber('SIGNONSENSE')).toThrow(expect.objectContaining({ code: 'bad_request' }));
  expect(() => signalNumber('')).toThrow(expect.objectContaining({ code: 'bad_request' }));
});

test('times out of range are clamped to valid ones', () => {
  expect(stamp(Number.MAX_SAFE_INTEGER)).toBe('9999-12-31T23:59:59.999Z');
  expect(stamp(-Number.MAX_SAFE_INTEGER)).toBe('0000-01-01T00:00:00.000Z');
});
