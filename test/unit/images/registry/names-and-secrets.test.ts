// What a pull may reach, and with which credentials: patterns, Docker's config.json, and challenges of registries.
import { describe, expect, it } from 'vitest';
import { parseImageReference } from '../../../../src/domain/image-name.ts';
import { checkAllowed, endpointsFor } from '../../../../src/images/registry/allowed.ts';
import { parseChallenge } from '../../../../src/images/registry/authorization.ts';
import { parseCredentials } from '../../../../src/images/registry/credentials.ts';

const settings = {
  registries: [] as string[],
  mirrors: {},
  insecureRegistries: [] as string[],
  requireDigest: false,
};

describe('patterns of registries', () => {
  it.each([
    ['ghcr.io', 'ghcr.io/a/b', true],
    ['ghcr.io/*', 'ghcr.io/a/b', true],
    ['ghcr.io/acme/*', 'ghcr.io/acme/tool', true],
    ['ghcr.io/acme/*', 'ghcr.io/acme/deep/tool', true],
    ['ghcr.io/acme/*', 'ghcr.io/acmecorp/tool', false],
    ['ghcr.io/acme', 'ghcr.io/acme/tool', false],
    ['ghcr.io/acme/tool', 'ghcr.io/acme/tool:3', true],
    ['docker.io', 'alpine', true],
    ['docker.io/library/*', 'alpine', true],
    ['docker.io/library/*', 'team/alpine', false],
    ['ghcr.io', 'evil-ghcr.io/a/b', false],
    ['ghcr.io', 'ghcr.io:8443/a/b', false],
    ['*', 'any.example/a', true],
  ])('%s for %s: %s', (pattern, image, isAllowed) => {
    const check = () => checkAllowed({ ...settings, registries: [pattern] }, parseImageReference(image));
    if (isAllowed) expect(check).not.toThrow();
    else expect(check).toThrow(expect.objectContaining({ code: 'forbidden' }));
  });

  it('allow names with a digest only, where it is required', () => {
    const required = { ...settings, registries: ['ghcr.io'], requireDigest: true };
    const check = (image: string) => () => checkAllowed(required, parseImageReference(image));
    expect(check(`ghcr.io/a/b:1@sha256:${'0'.repeat(64)}`)).not.toThrow();
    expect(check('ghcr.io/a/b:1')).toThrow(
      expect.objectContaining({ code: 'forbidden', message: expect.stringContaining('only by digest') }),
    );
  });

  it('allow plain HTTP on this machine where they name it, and elsewhere only as insecure', () => {
    const urls = (registry: string, more: Partial<typeof settings> = {}) =>
      endpointsFor({ ...settings, ...more }, registry)[0]?.bases.map(String);
    expect(urls('ghcr.io')).toEqual(['https://ghcr.io/v2/']);
    expect(urls('docker.io')).toEqual(['https://registry-1.docker.io/v2/']);
    expect(urls('localhost:5000')).toEqual(['https://localhost:5000/v2/']);
    expect(urls('localhost:5000', { registries: ['*'] })).toEqual(['https://localhost:5000/v2/']);
    expect(urls('127.0.0.1:5000', { registries: ['127.0.0.1:5000'] })).toEqual([
      'https://127.0.0.1:5000/v2/',
      'http://127.0.0.1:5000/v2/',
    ]);
    expect(urls('r.example:80', { insecureRegistries: ['r.example:80'] })).toEqual(['http://r.example/v2/']);
  });
});

describe('the config.json of Docker', () => {
  const basic = (text: string) => ({ auth: Buffer.from(text).toString('base64') });
  const found = (auths: object, registry: string, path = 'a/b') =>
    parseCredentials(JSON.stringify({ auths })).find(registry, path);

  it.each([
    ['a host', { 'ghcr.io': basic('u:p:q') }, 'ghcr.io', { username: 'u', password: 'p:q' }],
    ['a URL', { 'https://ghcr.io/v2/': basic('u:p') }, 'ghcr.io', { username: 'u', password: 'p' }],
    [
      "Docker Hub's key",
      { 'https://index.docker.io/v1/': basic('u:p') },
      'docker.io',
      { username: 'u', password: 'p' },
    ],
    [
      'two fields',
      { 'x.example': { username: 'u', password: '' } },
      'x.example',
      { username: 'u', password: '' },
    ],
    ['an identity token', { 'x.example': { identitytoken: 't' } }, 'x.example', { identityToken: 't' }],
    [
      'the longest key',
      { 'q.io': basic('u:1'), 'q.io/a': basic('u:2') },
      'q.io',
      { username: 'u', password: '2' },
    ],
    ['another host', { 'q.io': basic('u:1') }, 'q.io.example', undefined],
    ['nothing', { 'q.io': {} }, 'q.io', undefined],
    ['a name without a password', { 'q.io': basic('u') }, 'q.io', undefined],
  ])('has credentials under %s', (_, auths, registry, expected) => {
    expect(found(auths, registry)).toEqual(expected);
  });

  it.each(['', '{', '[]', 'null', '{"auths":[]}', '{"auths":{"x":5}}'])(
    'may be %j without a crash',
    (text) => {
      const read = () => parseCredentials(text).find('x', 'y');
      if (text === '' || text === '{') expect(read).toThrow(expect.objectContaining({ code: 'unavailable' }));
      else expect(read()).toBeUndefined();
    },
  );

  it('names helpers', () => {
    const helpers = parseCredentials('{"credHelpers":{"gcr.io":"gcloud"}}');
    expect([helpers.namesHelper('gcr.io'), helpers.namesHelper('ghcr.io')]).toEqual([true, false]);
    expect(parseCredentials('{"credsStore":"desktop"}').namesHelper('ghcr.io')).toBe(true);
  });
});

describe('a challenge', () => {
  const bearer = { scheme: 'bearer', realm: 'https://a/t', service: 's', scope: 'repository:x:pull' };
  it.each([
    ['Basic realm="x"', { scheme: 'basic', realm: 'x', service: '', scope: '' }],
    ['basic', { scheme: 'basic', realm: '', service: '', scope: '' }],
    ['Bearer realm="https://a/t",service="s",scope="repository:x:pull"', bearer],
    ['bearer  realm = "https://a/t" , service=s, scope="repository:x:pull"', bearer],
    ['Basic realm="y", Bearer realm="https://a/t",service="s",scope="repository:x:pull"', bearer],
    ['Negotiate', undefined],
    ['', undefined],
    [undefined, undefined],
    [`Bearer realm="${'x'.repeat(9000)}"`, undefined],
  ])('%s', (header, expected) => {
    expect(parseChallenge(header)).toEqual(expected);
  });
});
