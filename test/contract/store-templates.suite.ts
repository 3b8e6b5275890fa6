// The contract of stores: templates and their versions.
import { expect, it } from 'vitest';
import type { TemplateRecord } from '../../src/store/seam/templates.ts';
import { stamp, templateRecord } from '../support/records.ts';
import type { Given } from './store.suite.ts';

const LIMITS = { most: 1000, ofOwner: 100 };

export function templated({ store }: Given): void {
  const put = async (facts: Partial<TemplateRecord> = {}) => {
    const template = templateRecord(facts);
    await store().templates.create(template, LIMITS);
    return template;
  };

  it('keeps all fields, and returns copies', async () => {
    const full = await put({
      ...{ name: 'full', description: 'd', provider: 'userspace', network: 'none', prewarm: 3 },
      ...{
        pull: 'never' as const,
        worker_id: 'edge-1',
        worker_labels: { gpu: 'a100', 'example.com/zone': 'b' },
      },
      metadata: Object.fromEntries([['__proto__', 'x']]),
      env: JSON.parse('{"__proto__":"y","A":"\\u0000"}'),
      setup: ["echo 'a'", 'b; -- c'],
    });
    const bare = await put({ name: 'bare' });
    const read = await store().templates.get({ name: 'full' });
    expect(read).toEqual(full);
    expect(Object.entries(read?.env ?? {})).toEqual(Object.entries(full.env));
    expect(await store().templates.get({ name: 'bare' })).toEqual(bare);
    read?.setup.push('more');
    expect(await store().templates.get({ name: 'full' })).toEqual(full);
    expect(await store().templates.get({ name: 'none' })).toBeUndefined();
  });

  it('refuses a name twice, and more than there may be', async () => {
    await put({ name: 'a' });
    const again = store().templates.create(templateRecord({ name: 'a', image: 'other' }), {
      ...LIMITS,
      most: 1,
    });
    await expect(again).rejects.toMatchObject({ name: 'ServiceError', code: 'conflict' });
    await expect(
      store().templates.create(templateRecord({ name: 'b' }), { ...LIMITS, most: 1 }),
    ).rejects.toMatchObject({
      ...{ name: 'ServiceError', code: 'resource_limit' },
    });
    expect(await store().templates.list({ limit: 10 })).toMatchObject([{ name: 'a', image: 'host' }]);
  });

  it('lists newest first, and continues after a cursor', async () => {
    const [c, a, b] = [
      await put({ name: 'c', created_at: stamp(1) }),
      await put({ name: 'a', created_at: stamp(2) }),
      await put({ name: 'b', created_at: stamp(2) }),
    ];
    expect(await store().templates.list({ limit: 10 })).toEqual([b, a, c]);
    expect(await store().templates.list({ limit: 1 })).toEqual([b]);
    expect(await store().templates.list({ limit: 10, after: b })).toEqual([a, c]);
    expect(await store().templates.list({ limit: 10, after: c })).toEqual([]);
  });

  it('lists templates with ready sandboxes, by name, of all owners', async () => {
    const [b, , anns, bobs] = [
      await put({ name: 'b', prewarm: 1 }),
      await put({ name: 'c' }),
      await put({ name: 'a', prewarm: 2, owner_id: 'ann' }),
      await put({ name: 'a', prewarm: 3, owner_id: 'bob' }),
    ];
    expect(await store().templates.prewarmed()).toEqual([anns, bobs, b]);
  });

  it('replaces all facts, counts the version, keeps name and birth', async () => {
    const { created_at } = await put({ name: 'a', description: 'd', setup: ['x'], env: { A: 'b' } });
    const {
      name: _,
      version: __,
      created_at: ___,
      updated_at: ____,
      ...facts
    } = templateRecord({ vcpus: 4 });
    const replaced = await store().templates.replace({ name: 'a' }, facts, { updated_at: stamp(9) });
    const template = { ...facts, name: 'a', version: 2, created_at, updated_at: stamp(9) };
    expect(replaced).toEqual({ kind: 'replaced', template });
    expect(await store().templates.get({ name: 'a' })).toEqual(template);
  });

  it('replaces only the named version, and only one of many rivals wins', async () => {
    const { name, version, created_at, updated_at, ...facts } = await put();
    const replace = (versions: number[]) =>
      store().templates.replace({ name }, facts, { updated_at, versions });
    expect(await replace([2, 3])).toEqual({ kind: 'stale', version: 1 });
    expect(await replace([])).toEqual({ kind: 'stale', version: 1 });
    const rivals = await Promise.all(Array.from({ length: 20 }, () => replace([7, 1])));
    expect(rivals.filter(({ kind }) => kind === 'replaced')).toHaveLength(1);
    expect((await store().templates.get({ name }))?.version).toBe(2);
    expect(await store().templates.replace({ name: 'none' }, facts, { updated_at })).toEqual({
      kind: 'absent',
    });
  });

  it('takes only name and owner from the key of a replacement', async () => {
    const kept = await put({ memory_mb: 64 });
    const { name, version, created_at, updated_at, ...facts } = kept;
    const replaced = await store().templates.replace(kept, { ...facts, memory_mb: 128 }, { updated_at });
    expect(replaced).toMatchObject({ kind: 'replaced', template: { version: 2, memory_mb: 128 } });
    expect(await store().templates.get({ name })).toMatchObject({ memory_mb: 128 });
  });

  it('deletes once', async () => {
    const { name } = await put();
    expect(await store().templates.delete({ name })).toBe(true);
    expect(await store().templates.delete({ name })).toBe(false);
    expect(await store().templates.get({ name })).toBeUndefined();
  });

  it('keeps a name once for each owner and once for all, an owner\u2019s before the shared one', async () => {
    const shared = await put({ name: 'a' });
    await expect(put({ name: 'a', owner_id: 'ann' })).rejects.toMatchObject({ code: 'conflict' });
    const own = await put({ name: 'b', owner_id: 'ann' });
    const other = await put({ name: 'b', owner_id: 'bob' });
    const all = await put({ name: 'b' });
    await expect(put({ name: 'b', owner_id: 'ann' })).rejects.toMatchObject({ code: 'conflict' });
    const get = (name: string, owner_id?: string) =>
      store().templates.get({ name, ...(owner_id !== undefined && { owner_id }) });
    expect(await get('a', 'ann')).toEqual(shared);
    expect([await get('b', 'ann'), await get('b', 'bob'), await get('b', 'cid'), await get('b')]).toEqual([
      own,
      other,
      all,
      all,
    ]);
    expect(await store().templates.list({ limit: 9 })).toEqual([other, own, all, shared]);
    expect(await store().templates.list({ limit: 9, owner_id: 'ann' })).toEqual([own, all, shared]);
    expect(await store().templates.list({ limit: 1, owner_id: 'ann', after: own })).toEqual([all]);
    expect(await store().templates.list({ limit: 9, after: other })).toEqual([own, all, shared]);
  });

  it('replaces and deletes exactly the named template', async () => {
    const own = await put({ name: 'a', owner_id: 'ann' });
    const all = await put({ name: 'a' });
    const { name, owner_id: _, version: __, created_at: ___, updated_at, ...facts } = own;
    const replaced = await store().templates.replace(
      { name, owner_id: 'ann' },
      { ...facts, image: 'new' },
      { updated_at },
    );
    expect(replaced).toEqual({ kind: 'replaced', template: { ...own, image: 'new', version: 2 } });
    expect(await store().templates.get({ name })).toEqual(all);
    const absent = store().templates.replace({ name, owner_id: 'bob' }, facts, { updated_at });
    expect(await absent).toEqual({ kind: 'absent' });
    expect(await store().templates.delete({ name, owner_id: 'bob' })).toBe(false);
    expect(await store().templates.delete({ name, owner_id: 'ann' })).toBe(true);
    expect(await store().templates.get({ name, owner_id: 'ann' })).toEqual(all);
  });

  it('bounds those of one owner, those of all owners, and those that are shared', async () => {
    const create = (name: string, owner_id?: string) =>
      store().templates.create(templateRecord({ name, ...(owner_id !== undefined && { owner_id }) }), {
        ...{ most: 3, ofOwner: 2 },
      });
    for (const name of ['a', 'b']) await create(name, 'ann');
    await expect(create('c', 'ann')).rejects.toMatchObject({ code: 'resource_limit' });
    await create('a', 'bob');
    await expect(create('a', 'cid')).rejects.toMatchObject({ code: 'resource_limit' });
    for (const name of ['a', 'b', 'c']) await create(name);
    await expect(create('d')).rejects.toMatchObject({ code: 'resource_limit' });
  });
}
