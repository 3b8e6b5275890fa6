// Names of images: their parts, the defaults, and what is not a name.
import { describe, expect, it } from 'vitest';
import { completeImageName, parseImageReference } from '../../../src/domain/image-name.ts';

const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`;

describe('the name of an image', () => {
  it.each([
    ['alpine', 'docker.io/library/alpine:latest'],
    ['team/tool', 'docker.io/team/tool:latest'],
    ['index.docker.io/alpine:3', 'docker.io/library/alpine:3'],
    ['registry-1.docker.io/team/tool', 'docker.io/team/tool:latest'],
    ['GHCR.io/acme/tool:V1', 'ghcr.io/acme/tool:V1'],
    ['localhost/tool', 'localhost/tool:latest'],
    ['localhost:5000/a/b/c:1', 'localhost:5000/a/b/c:1'],
    ['tool:5000', 'docker.io/library/tool:5000'],
    [`alpine@${DIGEST}`, `docker.io/library/alpine@${DIGEST}`],
    [`alpine:3@${DIGEST}`, `docker.io/library/alpine:3@${DIGEST}`],
    ['a__b/c-d.e', 'docker.io/a__b/c-d.e:latest'],
  ])('%s is %s', (text, complete) => {
    expect(completeImageName(text)).toBe(complete);
    expect(completeImageName(complete)).toBe(complete);
  });

  it('has a tag with a digest only where somebody gave one', () => {
    expect(parseImageReference(`ghcr.io/a/b@${DIGEST}`)).toEqual({
      registry: 'ghcr.io',
      path: 'a/b',
      tag: undefined,
      digest: DIGEST,
    });
    expect(parseImageReference('ghcr.io/a/b').tag).toBe('latest');
  });

  it.each([
    '',
    '/',
    'Alpine',
    'team/Tool',
    'a//b',
    '/a',
    'a/',
    'a:',
    'a:b:c',
    `a:${'t'.repeat(129)}`,
    'a:-t',
    'a@sha256:0',
    `a@${DIGEST.toUpperCase()}`,
    `a@sha512:${'0'.repeat(128)}`,
    `a@${DIGEST}@${DIGEST}`,
    'a/../b',
    'a/./b',
    '..',
    'a b',
    'a\nb',
    'a%2fb',
    'ä',
    '[::1]:5000/a',
    'user@host/a',
    'http://host/a',
    'host.example:999999/a',
    `${'a'.repeat(256)}`,
  ])('is not %j', (text) => {
    expect(() => parseImageReference(text)).toThrow(expect.objectContaining({ code: 'bad_request' }));
  });
});
