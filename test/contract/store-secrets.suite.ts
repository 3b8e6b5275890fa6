// The contract of stores: sealed secrets.
import { expect, it } from 'vitest';
import type { SecretRecord } from '../../src/store/seam/secrets.ts';
import { stamp } from '../support/records.ts';
import type { Given } from './store.suite.ts';

const SEALED = `v1.00000000.${'A'.repeat(40)}`;
const secret = (name: string, facts: Partial<SecretRecord> = {}): SecretRecord => ({
  ...{ name: `credential/${name}`, facts: { hosts: ['api.example.com'] }, sealed: SEALED },
  ...{ created_at: stamp(), updated_at: stamp(), ...facts },
});

export function secrets({ store }: Given): void {
  it('replaces a secret, and keeps when it was created', async () => {
    const first = secret('one');
    expect(await store().secrets.put(first, 2)).toEqual(first);
    const next = secret('one', { facts: { hosts: ['b'] }, created_at: stamp(1), updated_at: stamp(1) });
    const stored = { ...next, created_at: stamp() };
    expect(await store().secrets.put(next, 2)).toEqual(stored);
    expect(await store().secrets.list('credential')).toEqual([stored]);
  });

  it('adds no secret over the bound of its kind, and replaces at the bound', async () => {
    await store().secrets.put(secret('a'), 2);
    await store().secrets.put(secret('b'), 2);
    expect(await store().secrets.put(secret('c'), 2)).toBeUndefined();
    expect(await store().secrets.put(secret('a'), 2)).toMatchObject({ name: 'credential/a' });
    expect(await store().secrets.add(secret('x', { name: 'authority/egress' }))).toMatchObject({
      sealed: SEALED,
    });
    expect((await store().secrets.list('credential')).map(({ name }) => name)).toEqual([
      'credential/a',
      'credential/b',
    ]);
  });

  it('keeps the first of secrets that are added at once', async () => {
    const names = ['1', '2', '3'].map((digit) => `v1.00000000.${digit.repeat(40)}`);
    const adds = names.map((sealed) =>
      store().secrets.add(secret('x', { name: 'authority/egress', sealed })),
    );
    const sealed = new Set((await Promise.all(adds)).map((stored) => stored.sealed));
    expect(sealed.size).toBe(1);
    expect(await store().secrets.list('authority')).toMatchObject([{ sealed: [...sealed][0] }]);
  });

  it('removes a secret, also when there is none', async () => {
    await store().secrets.put(secret('a'), 2);
    await store().secrets.remove('credential/a');
    await store().secrets.remove('credential/a');
    expect(await store().secrets.list('credential')).toEqual([]);
  });
}
