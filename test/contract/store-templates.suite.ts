// The contract of stores: templates and their versions.
import { expect, it } from 'vitest';
import type { TemplateRecord } from '../../src/store/seam/templates.ts';
import { stamp, templateRecord } from '../support/records.ts';
import type { Given } from './store.suite.ts';

export function templated({ store }: Given): void {
  const put = async (facts: Partial<TemplateRecord> = {}) => {
    const template = templateRecord(facts);
    await store().templates.create(template, 1000);
    return template;
  };

  it('keeps all of it, and gives out copies', async () => {
    const full = await put({
      ...{ name: 'full', description: 'd', provider: 'userspace', network: 'none', prewarm: 3 },
      metadata: Object.fromEntries([['__proto__', 'x']]),
      env: JSON.parse('{"__proto__":"y","A":"\\u0000"}'),
      setup: ["echo 'a'", 'b; -- c'],
    });
    const bare = await put({ name: 'bare' });
    const read = await store().templates.get('full');
    expect(read).toEqual(full);
    expect(Object.entries(read?.env ?? {})).toEqual(Object.entries(full.env));
    expect(await store().templates.get('bare')).toEqual(bare);
    read?.setup.push('more');
    expect(await store().templates.get('full')).toEqual(full);
    expect(await store().templates.get('none')).toBeUndefined();
  });

  it('refuses a name twice, and more than there may be', async () => {
    await put({ name: 'a' });
    const again = store().templates.create(templateRecord({ name: 'a', image: 'other' }), 1);
    await expect(again).rejects.toMatchObject({ name: 'ServiceError', code: 'conflict' });
    await expect(store().templates.create(templateRecord({ name: 'b' }), 1)).rejects.toMatchObject({
      ...{ name: 'ServiceError', code: 'resource_limit' },
    });
    expect(await store().templates.list(10)).toMatchObject([{ name: 'a', image: 'host' }]);
  });

  it('lists newest first, and goes on after a place', async () => {
    const [c, a, b] = [
      await put({ name: 'c', created_at: stamp(1) }),
      await put({ name: 'a', created_at: stamp(2) }),
      await put({ name: 'b', created_at: stamp(2) }),
    ];
    expect(await store().templates.list(10)).toEqual([b, a, c]);
    expect(await store().templates.list(1)).toEqual([b]);
    expect(await store().templates.list(10, b)).toEqual([a, c]);
    expect(await store().templates.list(10, c)).toEqual([]);
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
    const replaced = await store().templates.replace('a', facts, { updated_at: stamp(9) });
    const template = { ...facts, name: 'a', version: 2, created_at, updated_at: stamp(9) };
    expect(replaced).toEqual({ kind: 'replaced', template });
    expect(await store().templates.get('a')).toEqual(template);
  });

  it('replaces only a version that is taken, and lets one of many rivals win', async () => {
    const { name, version, created_at, updated_at, ...facts } = await put();
    const replace = (versions: number[]) => store().templates.replace(name, facts, { updated_at, versions });
    expect(await replace([2, 3])).toEqual({ kind: 'stale', version: 1 });
    expect(await replace([])).toEqual({ kind: 'stale', version: 1 });
    const rivals = await Promise.all(Array.from({ length: 20 }, () => replace([7, 1])));
    expect(rivals.filter(({ kind }) => kind === 'replaced')).toHaveLength(1);
    expect((await store().templates.get(name))?.version).toBe(2);
    expect(await store().templates.replace('none', facts, { updated_at })).toEqual({ kind: 'absent' });
  });

  it('deletes once', async () => {
    const { name } = await put();
    expect(await store().templates.delete(name)).toBe(true);
    expect(await store().templates.delete(name)).toBe(false);
    expect(await store().templates.get(name)).toBeUndefined();
  });
}
