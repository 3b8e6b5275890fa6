// What the tab key suggests, from the manifest and from a server.
import { Config } from '@oclif/core';
import { beforeAll, expect, it, vi } from 'vitest';
import { complete } from '../../../src/cli/complete.ts';
import type { ConnectionFlags } from '../../../src/cli/connection.ts';
import type { Client } from '../../../src/client/client.ts';
import { packageRoot } from '../../../src/host/package-root.ts';

let config: Config;
beforeAll(async () => {
  config = await Config.load(packageRoot());
});

const client = {
  listAll: async () => [{ id: 'sb-1' }, { id: 'sb-2' }],
  templates: { page: async () => ({ templates: [{ name: 'python' }, { name: 'x;rm -rf ~' }] }) },
  system: { providers: async () => [{ name: 'userspace' }, { name: 'container' }] },
  workers: { list: async () => [{ id: 'local' }, { id: 'edge-1' }] },
  quotas: { list: async () => [{ owner_id: 'ann' }] },
} as unknown as Client;
const signal = new AbortController().signal;
const suggest = (words: string[]) => complete(words, config.commands, () => ({ client, signal }));

it.each<[string, string[], string[]]>([
  ['commands', ['sandbox', 'e'], ['egress', 'exec', 'explain', 'extend']],
  ['topics', ['temp'], ['template']],
  ['commands of a topic that is also a command', ['worker', 'to'], ['token']],
  ['commands two topics deep', ['worker', 'token', ''], ['create', 'inspect', 'verify']],
  ['flags', ['sandbox', 'list', '--st'], ['--state']],
  ['flags of a command that is also a topic', ['worker', '--li'], ['--listen']],
  ['the negated form of a flag', ['sandbox', 'list', '--no-'], ['--no-retry']],
  ['values of a flag', ['sandbox', 'create', '--network', ''], ['default', 'none']],
  ['values of a flag in one word', ['sandbox', 'create', '--network=n'], ['--network=none']],
  ['values of a flag that bash split', ['sandbox', 'create', '--network', '=', 'n'], ['none']],
  [
    'values of a flag that bash split, with no value yet',
    ['sandbox', 'create', '--network', '='],
    ['default', 'none'],
  ],
  ['values of an argument', ['completion', ''], ['bash', 'fish', 'zsh']],
  ['sandbox ids', ['sandbox', 'get', 'sb-1'], ['sb-1']],
  ['sandbox ids after flags', ['sandbox', 'ls', '--depth', '2', ''], ['sb-1', 'sb-2']],
  ['sandbox ids for every word of destroy', ['sandbox', 'destroy', 'sb-1', ''], ['sb-1', 'sb-2']],
  ['sandbox ids of exec commands', ['exec', 'list', ''], ['sb-1', 'sb-2']],
  ['the sandbox side of a copy', ['sandbox', 'cp', 'file', ''], ['sb-1:', 'sb-2:']],
  [
    'template names, except those that a shell would run',
    ['sandbox', 'create', '--template', ''],
    ['python'],
  ],
  ['template names as an argument', ['template', 'get', ''], ['python']],
  ['providers', ['provider', 'get', 'u'], ['userspace']],
  ['workers', ['worker', 'drain', ''], ['edge-1', 'local']],
  ['owners', ['quota', 'get', ''], ['ann']],
  ['nothing for a new name', ['template', 'create', ''], []],
  ['nothing after the sandbox of a command', ['sandbox', 'exec', 'sb-1', '--', 'l'], []],
  ['nothing for an unknown command', ['nope', ''], []],
])('suggests %s', async (_, words, expected) => {
  expect(await suggest(words)).toEqual(expected);
});

it('does not suggest the completion command', async () => {
  expect(await suggest(['completion', 's'])).toEqual([]);
});

it('asks the server named in the words', async () => {
  const source = vi.fn((_: ConnectionFlags) => ({ client, signal }));
  await complete(['sandbox', 'get', '--server', 'http://x:1', '--user', 'ann', ''], config.commands, source);
  expect(source.mock.calls[0]?.[0]).toMatchObject({ server: 'http://x:1', user: 'ann' });
});

it('suggests nothing when the server fails', async () => {
  const failing = { listAll: () => Promise.reject(new Error('away')) } as unknown as Client;
  expect(
    await complete(['sandbox', 'get', ''], config.commands, () => ({ client: failing, signal })),
  ).toEqual([]);
});

it('suggests nothing when the connection flags are not valid', async () => {
  const throwing = () => {
    throw new Error('not an address');
  };
  expect(await complete(['sandbox', 'get', ''], config.commands, throwing)).toEqual([]);
});
