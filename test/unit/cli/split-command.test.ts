// Where the words of svc end and the command begins.
import { expect, it } from 'vitest';
import { splitCommand } from '../../../src/cli/split-command.ts';

const FLAGS = {
  server: { type: 'option' },
  json: { type: 'boolean' },
  stdin: { type: 'boolean', char: 'i' },
  env: { type: 'option', char: 'e' },
};
const split = (argv: string[], more: { skip?: number; isOptional?: boolean } = {}) =>
  splitCommand(argv, { command: 'sandbox exec', skip: 1, flags: FLAGS, ...more });

it.each<[string[], string[], string[]]>([
  [['sb-1', '--', 'ls', '-la'], ['sb-1'], ['ls', '-la']],
  [['sb-1', 'ls'], ['sb-1'], ['ls']],
  [['sb-1', 'cat', 'a b', '-'], ['sb-1'], ['cat', 'a b', '-']],
  [['--server', 'http://x', 'sb-1', 'ls'], ['--server', 'http://x', 'sb-1'], ['ls']],
  [['sb-1', '--server=http://x', 'ls'], ['sb-1', '--server=http://x'], ['ls']],
  [['sb-1', '-e', 'A=1', '-e', 'B=2', 'env'], ['sb-1', '-e', 'A=1', '-e', 'B=2'], ['env']],
  [['-eA=1', 'sb-1', '-ie', 'B=2', '--json', 'env'], ['-eA=1', 'sb-1', '-ie', 'B=2', '--json'], ['env']],
  [['sb-1', '--help'], ['sb-1', '--help'], []],
])('%j', (argv, own, words) => {
  expect(split(argv)).toEqual({ own, words });
});

it('names the correct command line when a flag follows the command', () => {
  const refused = (argv: string[], skip = 1) => {
    try {
      return split(argv, { skip });
    } catch (error) {
      return error;
    }
  };
  expect(refused(['sb-1', 'ls', '-la', "it's"])).toMatchObject({
    code: 'bad_request',
    message: 'It is not clear whether -la is for svc or for the command.',
    remedy: "Put -- before the command: svc sandbox exec sb-1 -- ls -la 'it'\\''s'",
  });
  expect(refused(['--json', 'ls', '--color'], 0)).toMatchObject({
    remedy: 'Put -- before the command: svc sandbox exec --json -- ls --color',
  });
  expect(refused(['sb-1', '--'])).toMatchObject({
    message: 'No command was given.',
    remedy: 'Put it after --, for example: svc sandbox exec sb-1 -- python3 -V',
  });
});

it('permits a missing command where it is optional', () => {
  expect(split(['sb-1', '--json'], { isOptional: true })).toEqual({ own: ['sb-1', '--json'], words: [] });
});
