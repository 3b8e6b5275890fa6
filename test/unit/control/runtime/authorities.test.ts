// The stored authority of an instance: one for all servers, sealed, renewed before its end, replaced when it cannot be read.
import { X509Certificate } from 'node:crypto';
import { expect, it } from 'vitest';
import { Authorities } from '../../../../src/control/runtime/authorities.ts';
import { sealWith } from '../../../../src/domain/seal.ts';
import { Authority } from '../../../../src/egress/authority.ts';
import { createAuthority } from '../../../../src/egress/certificates.ts';
import type { KeyPair } from '../../../../src/egress/egress.ts';
import { trustedAuthority } from '../../../../src/egress/trust.ts';
import { fakeClock, seededRandom, silentLogger } from '../../../support/fakes/ports.ts';
import { memorySecrets } from '../../../support/memory-store/secrets.ts';

const DAY_MS = 86_400_000;

function world() {
  const clock = fakeClock();
  const secrets = memorySecrets();
  const server = (key = 'one key') => {
    const random = seededRandom();
    const egress = {
      createAuthority: (name: string, lifeMs: number) =>
        createAuthority(name, { random, now: clock.now(), lifeMs }),
      authority: (pair: KeyPair) => new Authority(pair, clock, random),
    };
    const seal = async () => sealWith(key, random);
    const instance = { id: '01234567-89ab' };
    return new Authorities({ egress, secrets, seal, instance, days: 365, clock, logger: silentLogger });
  };
  return { clock, secrets, server };
}

const certificates = async (authorities: Authorities) =>
  (await authorities.all()).map(({ certificate }) => certificate);

it('is made once for all servers, with its key sealed', async () => {
  const { secrets, server } = world();
  const [one, other] = await Promise.all([certificates(server()), certificates(server())]);
  expect(one).toEqual(other);
  expect(one).toHaveLength(1);
  expect(new X509Certificate(String(one[0])).subject).toBe('CN=svc 01234567 1');
  const stored = await secrets.list('authority');
  expect(stored.map(({ name }) => name)).toEqual(['authority/egress-1']);
  expect(JSON.stringify(stored)).not.toContain('PRIVATE KEY');
});

it('is followed by another 30 days before its end, and holds until then', async () => {
  const { clock, secrets, server } = world();
  const authorities = server();
  const [first] = await certificates(authorities);
  await clock.advance(334 * DAY_MS);
  expect(await certificates(authorities)).toEqual([first]);
  await clock.advance(2 * DAY_MS);
  const both = await certificates(authorities);
  expect(both).toEqual([expect.not.stringContaining(String(first)), first]);
  expect(await certificates(server())).toEqual(both);
  await clock.advance(30 * DAY_MS);
  expect(await certificates(server())).toEqual(both.slice(0, 1));
  expect((await secrets.list('authority')).map(({ name }) => name)).toEqual(['authority/egress-2']);
});

it('is followed by the same one on servers that run on', async () => {
  const { clock, secrets, server } = world();
  const [one, other] = [server(), server()];
  expect(await certificates(one)).toEqual(await certificates(other));
  await clock.advance(336 * DAY_MS);
  const both = await certificates(one);
  expect(both).toHaveLength(2);
  expect(await certificates(other)).toEqual(both);
  expect((await secrets.list('authority')).map(({ name }) => name)).toEqual([
    'authority/egress-1',
    'authority/egress-2',
  ]);
});

it('is replaced where another key sealed it', async () => {
  const { server } = world();
  const [first] = await certificates(server());
  const [next] = await certificates(server('another key'));
  expect(next).not.toBe(first);
});

it('is the newest that the sandbox can trust', async () => {
  const { clock, server } = world();
  const authorities = server();
  const [first] = await certificates(authorities);
  await clock.advance(340 * DAY_MS);
  const fixed = {
    gate: { trust: async (certificate: string) => ({ files: certificate === first, system: false }) },
  };
  expect((await trustedAuthority(fixed as never, await authorities.all()))?.certificate).toBe(first);
  const none = { gate: { trust: async () => ({ files: false, system: false }) } };
  expect(await trustedAuthority(none as never, await authorities.all())).toBeUndefined();
  expect(await trustedAuthority({}, await authorities.all())).toBeUndefined();
});
