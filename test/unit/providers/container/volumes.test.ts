// Where an image may have volumes: anywhere but over what a sandbox lives on.
import { expect, it } from 'vitest';
import { declaredVolumes } from '../../../../src/providers/container/volumes.ts';

const at = (...paths: string[]) =>
  declaredVolumes('some/image', Object.fromEntries(paths.map((path) => [path, {}])));

it('are normalized like in the engine, each once', () => {
  expect(at('/data/', '/data', '/a/../b//c', '/devices', '/process')).toEqual([
    ...['/b/c', '/data', '/devices', '/process'],
  ]);
  expect(declaredVolumes('some/image', null)).toEqual([]);
  expect(declaredVolumes('some/image', undefined)).toEqual([]);
});

it.each([
  '/',
  '//',
  '/x/..',
  'data',
  '../data',
  '',
  '/proc',
  '/x/../proc/1',
  '/sys',
  '/dev/shm',
  '/.svc/',
  '/a\nb',
])('at %j are refused with the image', (path) => {
  expect(() => at('/data', path)).toThrow(expect.objectContaining({ code: 'bad_request' }));
  expect(() => at('/data', path)).toThrow(/some\/image/);
});

it('are limited in number and length, and an invalid list is refused', () => {
  const many = Array.from({ length: 33 }, (_, index) => `/v${index}`);
  expect(at(...many.slice(1))).toHaveLength(32);
  expect(() => at(...many)).toThrow(/more than 32/);
  expect(() => at(`/${'x'.repeat(2000)}`)).toThrow(/declares a volume/);
  expect(() => declaredVolumes('some/image', 'text')).toThrow(/invalid response/);
});
