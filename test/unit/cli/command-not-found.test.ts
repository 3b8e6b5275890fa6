// Words that are no command get the nearest one named.
import { expect, it } from 'vitest';
import { unknownCommand } from '../../../src/cli/command-not-found.ts';

const ids = ['serve', 'sandbox:create', 'sandbox:cp', 'sandbox:list', 'config:show', 'worker:token:create'];

it.each([
  ['sandbox lst', 'svc sandbox list --help'],
  ['sandbx list sb-1 x y', 'svc sandbox list --help'],
  ['srve', 'svc serve --help'],
  ['worker tokn create w1', 'svc worker token create --help'],
  ['quite something else', 'svc help'],
  ['x'.repeat(5000), 'svc help'],
])('%s', (words, remedy) => {
  const failure = unknownCommand(words.split(' '), ids);
  expect(failure).toMatchObject({ code: 'bad_request', exitCode: 2, remedy });
});
