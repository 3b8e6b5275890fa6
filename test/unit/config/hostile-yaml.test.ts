// Files that are not what they should be: refused with a place, in little time, and never with another error than ours.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/load.ts';
import type { Problem } from '../../../src/config/setting.ts';
import { ServiceError } from '../../../src/domain/errors.ts';

const cwd = mkdtempSync(join(tmpdir(), 'svc-yaml-'));
afterAll(() => rmSync(cwd, { recursive: true }));

function problemsOf(text: string): Problem[] {
  writeFileSync(join(cwd, 'svc.yaml'), text);
  try {
    loadConfig({ env: {}, cwd, home: '/nowhere', uid: 1000, isTerminal: false });
    return [];
  } catch (error) {
    if (error instanceof ServiceError) return error.details?.problems as Problem[];
    throw error;
  }
}

const times = (count: number, text: string) => text.repeat(count);
const lines = (count: number, line: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => line(at)).join('\n');
const bomb = lines(
  9,
  (level) => `l${level}: &l${level} [${times(9, level === 0 ? 'x, ' : `*l${level - 1}, `)}]`,
);

const REFUSED: Record<string, string> = {
  'a scalar': 'just text',
  'a list': '- a\n- b',
  'a number': '42',
  'a flow list': '[server]',
  'a duplicate section': 'server: {}\nserver: {}',
  'a duplicate key': 'server:\n  port: 1\n  port: 2',
  'a duplicate in a map': 'providers: {userspace: {images: {a: /x, a: /y}}}',
  'a duplicate through quotes': 'server:\n  port: 1\n  "port": 2',
  'a duplicate through an alias': '&k server: {}\n*k : {}',
  'an alias bomb': bomb,
  'a bomb in a leaf': `${bomb}\nproviders: {userspace: {images: *l8}}`,
  'many aliases': `server: &a {}\nauth: [${times(20_000, '*a, ')}]`,
  'more aliases than needed': `providers: {userspace: {languages: [&a x, ${times(101, '*a, ')}]}}`,
  'many merges': `server: &a {port: 1}\n${lines(12_000, (at) => `k${at}:\n  <<: *a`)}`,
  'a merge key': 'server: &a {port: 1}\nauth:\n  <<: *a',
  'a merge key by directive': '%YAML 1.1\n---\nserver: &a {port: 1}\nauth:\n  <<: *a',
  'an alias to nothing': 'server: *nowhere',
  'an alias to itself': 'server: &a {port: *a}',
  'a section that is itself': 'server: &a [*a]',
  'a private tag': 'server: !evil {port: 1}',
  'a function tag': 'server: {host: !!js/function "function () {}"}',
  'a python tag': 'server: !!python/object/apply:os.system ["id"]',
  'a binary': 'auth: {api_key: !!binary aGVsbG8=}',
  'a timestamp tag': 'server: {host: !!timestamp 2001-01-01}',
  'a set': 'server: !!set {? port}',
  'an ordered map': 'server: !!omap [port: 1]',
  'a tag on the root': '!root {server: {}}',
  'a shorthand tag without its handle': 'server: !e!x {}',
  'two documents': 'server: {}\n---\nauth: {}',
  'a second document that is empty': 'server: {}\n---\n',
  'an unclosed quote': 'server: {host: "127.0.0.1}',
  'an unclosed bracket': 'server: {host: [a, b',
  'a closing bracket too much': 'server: {}}',
  'a tab for indentation': 'server:\n\tport: 1',
  'a bad escape': 'server: {host: "\\q"}',
  'a bad indentation': 'server:\n    port: 1\n  host: x',
  'a key without a colon': 'server\nauth: {}',
  'a colon too much': 'server: port: 1',
  'a list as key': '[a, b]: 1',
  'a map as key': '{a: b}: 1',
  'a null key': '~: 1',
  'an empty key': '"": 1',
  'a key of white space': '" ": 1',
  'a key with control characters': '"a\\x1b[31m\\n": 1',
  'a key with a zero byte': '"ser\\0ver": {}',
  'a prototype': '__proto__: {polluted: true}',
  'a constructor': 'constructor: {prototype: {polluted: true}}',
  'a prototype in a section': 'server: {__proto__: {polluted: true}}',
  'a dotted key': 'server.port: 1',
  'another case': 'Server: {port: 1}',
  'a dash for an underscore': 'server: {body-limit: 2048}',
  'a section for a key': 'server: {port: {a: 1}, prot: 2}',
  'a key for a section': 'server: 7423',
  'a list for a section': 'auth: [enabled]',
  'deep flow': times(100_000, '['),
  'deep closed flow': `a: ${times(50_000, '[')}${times(50_000, ']')}`,
  'deep maps': times(60_000, '{a: '),
  'deep dashes': times(100_000, '- '),
  'deep questions': times(100_000, '? '),
  'deep indentation': lines(700, (at) => `${times(at, ' ')}a:`),
  'many keys': lines(20_000, (at) => `k${at}: 1`),
  'many anchors': lines(12_000, (at) => `a${at}: &a${at} 1`),
  'many anchors in a row': `a: ${times(60_000, '&a ')}1`,
  'many tags in a row': `a: ${times(40_000, '!!str ')}1`,
  'many colons': times(100_000, ': '),
  'many quotes': times(200_000, '"'),
  'many braces': times(15_000, 'a: }\n'),
  'many documents': times(60_000, '---\n'),
  'many directives': times(20_000, '%YAML 1.1\n'),
  'a long key': `${times(1000, 'k')}: 1`,
  'a very long key': `? ${times(200_000, 'k')}\n: 1`,
  'a byte order mark in the middle': 'server: {}\n\ufeffauth: {}',
};

it(`has ${Object.keys(REFUSED).length} hostile files`, () => {
  expect(Object.keys(REFUSED).length).toBeGreaterThanOrEqual(60);
});

/** Of the processor, which others that share the machine do not lengthen much. The worst takes 0.7 s on a quiet one. */
const MOST_CPU_MS = 5000;

it.each(Object.entries(REFUSED))('refuses %s', (_, text) => {
  const before = process.cpuUsage();
  const problems = problemsOf(text);
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1000).toBeLessThan(MOST_CPU_MS);
  expect(problems.length).toBeGreaterThan(0);
  for (const { message, line, column } of problems) {
    expect(message).toMatch(/^svc\.yaml:\d+:\d+: .{3,300}[.?]$/);
    expect(message).not.toMatch(/\p{Cc}/u);
    expect([Number.isSafeInteger(line), Number.isSafeInteger(column)]).toEqual([true, true]);
  }
  expect({}).not.toHaveProperty('polluted');
});

it.each([
  ['nothing', ''],
  ['white space', ' \n \n'],
  ['comments', times(50_000, '# x\n')],
  ['an empty section', 'server:\nauth: ~\n'],
  ['an empty document', '---\n...\n'],
  ['a byte order mark', '\ufeffserver: {port: 1}'],
  ['an alias', 'server: {port: &p 1}\ndefaults: {vcpus: *p}'],
  ['Windows line ends', 'server:\r\n  port: 1\r\n'],
  ['a known tag', 'server: {host: !!str 127.0.0.1}'],
  ['octal and hexadecimal', 'server: {port: 0o17, body_limit: 0xFFFF}'],
  ['JSON', '{"server": {"port": 1, "cors_allowed_origins": ["*"]}}'],
])('accepts %s', (_, text) => {
  expect(problemsOf(text)).toEqual([]);
});

it('names the position of the key', () => {
  expect(problemsOf('# c\nserver:\n  port: 1\n  hots: x\n')).toEqual([
    {
      message: 'svc.yaml:4:3: "server.hots" is not a key; did you mean server.host?',
      key: 'server.hots',
      file: 'svc.yaml',
      line: 4,
      column: 3,
    },
  ]);
});
