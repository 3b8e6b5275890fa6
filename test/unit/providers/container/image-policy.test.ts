// Names of images as an engine reads them, and which of them a sandbox may have.
import { expect, it } from 'vitest';
import { fullName } from '../../../../src/providers/container/image-name.ts';
import { imagePolicy, isOpenPattern } from '../../../../src/providers/container/image-policy.ts';

const HEX = 'ab'.repeat(32);

it.each([
  ['alpine', 'docker.io/library/alpine:latest'],
  ['alpine:3', 'docker.io/library/alpine:3'],
  ['docker.io/alpine', 'docker.io/library/alpine:latest'],
  ['index.docker.io/team/app', 'docker.io/team/app:latest'],
  ['registry.example:5000/team/app', 'registry.example:5000/team/app:latest'],
  ['localhost/app', 'localhost/app:latest'],
  ['LOCALHOST/app', 'localhost/app:latest'],
  [`app@sha256:${HEX}`, `docker.io/library/app@sha256:${HEX}`],
  [`app:1@sha256:${HEX}`, `docker.io/library/app@sha256:${HEX}`],
  // Could else be the beginning of an id.
  ['deadbeef', 'docker.io/library/deadbeef:latest'],
  [`sha256:${HEX}`, `sha256:${HEX}`],
])('%s is %s', (name, full) => {
  expect(fullName(name)).toBe(full);
});

const allows = (patterns: string[], name: string) => {
  try {
    imagePolicy(patterns)(name);
    return true;
  } catch (error) {
    expect(error).toMatchObject({ code: 'bad_request', message: expect.stringContaining(name) });
    return false;
  }
};

it.each([
  [['*'], 'alpine', true],
  [['*'], 'registry.example/team/app:1', true],
  [['*'], `sha256:${HEX}`, true],
  [[], 'alpine', false],
  [['alpine'], 'alpine:3.22', true],
  [['alpine'], 'docker.io/library/alpine', true],
  [['alpine'], 'alpine2', false],
  [['alpine'], 'evil.example/alpine', false],
  [['alpine'], 'evil.example/library/alpine', false],
  [['alp*'], 'alpine:3', true],
  [['alp*'], 'alpine.evil.example/x', false],
  [['team/*'], 'team/app', true],
  [['team/*'], 'team.evil.example/app', false],
  [['team/*'], 'team/app/more', false],
  [['team/**'], 'team/app/more', true],
  [['alpine:3.*'], 'alpine:3.22', true],
  [['alpine:3.*'], 'alpine', false],
  [['alpine:3.*'], `alpine:3.22@sha256:${HEX}`, false],
  [['alpine'], `alpine@sha256:${HEX}`, true],
  [[`alpine@sha256:${HEX}`], `alpine:9@sha256:${HEX}`, true],
  [[`alpine@sha256:${HEX}`], 'alpine', false],
  [['registry.example/**'], 'registry.example/a/b:1', true],
  [['registry.example/**'], 'registryxexample/a/b:1', false],
  [['*.example.com/app'], 'a.example.com/app', true],
  [['alpine'], `sha256:${HEX}`, false],
  [[`sha256:${HEX}`], `sha256:${HEX}`, true],
  [['library/*'], `sha256:${HEX}`, false],
] as const)('%j: is %s allowed? %j', (patterns, name, isAllowed) => {
  expect(allows([...patterns], name)).toBe(isAllowed);
});

const INTERNAL = [
  ...[
    '127.0.0.1:5000/x',
    '10.0.0.5/x',
    '169.254.169.254/latest/meta-data',
    '[::1]:5000/x',
    '127.1/x',
    '0x7f.1/x',
  ],
  ...['2130706433:80/x', '0177.0.0.1/x', '127.0.0.0x1/x', 'localhost/x', 'LocalHost:5000/x', 'a.localhost/x'],
  ...[
    'localhost.localdomain/x',
    'metadata.google.internal/x',
    'metadata:80/x',
    'registry:5000/x',
    'LOCALHOST/x',
  ],
  ...['printer.local/x', 'host.docker.internal:2375/x', 'router.home.arpa/x', '127.0.0.1.:80/x', 'nas.lan/x'],
];

it.each(INTERNAL)('%s is never requested, unless its host is named', (name) => {
  expect(allows(['*'], name)).toBe(false);
  expect(allows(['*', '*.*/**', '*:*/**', '**'], name)).toBe(false);
  const host = name.slice(0, name.indexOf('/'));
  expect(allows(['*', `${host}/**`], name)).toBe(true);
  expect(allows(['*', 'other:5000/**'], name)).toBe(false);
});

it('a pattern is matched in linear time, whatever the name', () => {
  const policy = imagePolicy(['a*a*a*a*a*a*a*a*b', '**/**/**/**/b']);
  const began = performance.now();
  for (const name of ['a'.repeat(511), `${'a/'.repeat(250)}a`]) expect(() => policy(name)).toThrow();
  expect(performance.now() - began).toBeLessThan(50);
});

it.each([
  ['*', true],
  ['**', true],
  ['*/**', true],
  ['*.example.com/app', true],
  ['docker.io/**', true],
  ['registry.example/**', true],
  ['registry.example/team/**', false],
  ['alpine', false],
  ['alp*', false],
])('%s allows all: %j', (pattern, isOpen) => {
  expect(isOpenPattern(pattern)).toBe(isOpen);
});
