// Whose templates a caller reaches: their own first, then those that all share, which administrators alone change.
import { describe, expect, it } from 'vitest';
import type { Caller } from '../../../../src/control/api/caller.ts';
import { admin, api, forever, owned, roomy, type World, world } from '../../../support/servers/control.ts';

const [ann, bob] = [owned('ann'), owned('bob')];
const adminFor = (owner: string): Caller => ({ ...admin, owner });
const enforced = (config = {}) => world({ auth: { enforce_owner: true }, ...config });
const make = (w: World, caller: Caller, facts = {}) =>
  w.control.templates.create({ name: 'py', image: 'i', ...facts }, caller);
const spawn = (w: World, caller: Caller) => w.control.templates.spawn('py', {}, caller, {}, forever);
const envOf = async (w: World, caller: Caller) => {
  const { id } = await spawn(w, caller);
  return (await w.store.sandboxes.get(id))?.env;
};
const imageOf = async (w: World, caller: Caller) => (await w.control.templates.get('py', caller)).image;

describe('templates while owners are enforced', () => {
  it('are hidden from every other owner', async () => {
    const w = enforced();
    expect(await make(w, ann, { env: { TOKEN: 'hush' } })).toMatchObject({ owner_id: 'ann' });
    const { templates } = w.control;
    for (const refused of [
      templates.get('py', bob),
      templates.update('py', { image: 'evil' }, bob, {}),
      templates.delete('py', bob),
      spawn(w, bob),
      w.control.sandboxes.spawn({ template: 'py' }, bob, {}, forever),
      w.control.sandboxes.admission({ template: 'py' }, bob),
    ])
      await expect(refused).rejects.toMatchObject({ code: 'not_found' });
    expect((await templates.list({}, bob, roomy)).templates).toEqual([]);
    expect(await make(w, bob, { env: { TOKEN: 'other' } })).toMatchObject({ owner_id: 'bob' });
    expect(await envOf(w, ann)).toEqual({ TOKEN: 'hush' });
    expect(await envOf(w, bob)).toEqual({ TOKEN: 'other' });
  });

  it('of an owner win over shared ones of the same name', async () => {
    const w = enforced();
    await make(w, ann, { image: 'own' });
    const shared = await make(w, admin, { image: 'shared' });
    expect(shared).not.toHaveProperty('owner_id');
    expect([await imageOf(w, ann), await imageOf(w, bob), await imageOf(w, admin)]).toEqual([
      'own',
      'shared',
      'shared',
    ]);
    expect((await w.control.templates.list({}, bob, roomy)).templates.map(({ image }) => image)).toEqual([
      'shared',
    ]);
    expect((await w.control.templates.list({}, admin, roomy)).templates).toHaveLength(2);
    await w.control.templates.delete('py', ann);
    expect(await imageOf(w, ann)).toBe('shared');
  });

  it('that are shared are changed only by administrators, and reserve their name', async () => {
    const w = enforced();
    await make(w, admin, { env: { TOKEN: 'hush' } });
    const { templates } = w.control;
    await expect(make(w, ann)).rejects.toMatchObject({ code: 'conflict' });
    await expect(templates.update('py', { image: 'evil' }, ann, {})).rejects.toMatchObject({
      code: 'forbidden',
    });
    await expect(templates.delete('py', ann)).rejects.toMatchObject({ code: 'forbidden' });
    expect((await templates.get('py', ann)).env).toEqual({ TOKEN: '***' });
    expect(await templates.update('py', { image: 'j' }, admin, {})).toMatchObject({ image: 'j', version: 2 });
    await templates.delete('py', admin);
    await expect(imageOf(w, ann)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('of an owner are reached by an administrator who names the owner', async () => {
    const w = enforced();
    await make(w, ann, { image: 'a', env: { TOKEN: 'hush' } });
    await expect(imageOf(w, admin)).rejects.toMatchObject({ code: 'not_found' });
    expect((await w.control.templates.get('py', adminFor('ann'))).env).toEqual({ TOKEN: 'hush' });
    const sandbox = await w.control.sandboxes.spawn({ template: 'py', owner_id: 'ann' }, admin, {}, forever);
    expect(sandbox).toMatchObject({ owner_id: 'ann' });
    expect((await w.store.sandboxes.get(sandbox.id))?.env).toEqual({ TOKEN: 'hush' });
    expect(await make(w, adminFor('bob'))).toMatchObject({ owner_id: 'bob' });
    await w.control.templates.delete('py', adminFor('ann'));
    await expect(imageOf(w, ann)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('cannot be created or read without an owner', async () => {
    const w = enforced();
    for (const refused of [make(w, api), w.control.templates.list({}, api, roomy), imageOf(w, api)])
      await expect(refused).rejects.toMatchObject({ code: 'bad_request' });
  });

  it('are listed in pages, also one name of many owners', async () => {
    const w = enforced();
    for (const owner of ['ann', 'bob', 'cid']) await make(w, owned(owner));
    await make(w, admin);
    const owners: (string | undefined)[] = [];
    let cursor: string | undefined;
    do {
      const page = await w.control.templates.list({ limit: 1, ...(cursor && { cursor }) }, admin, roomy);
      owners.push(...page.templates.map(({ owner_id }) => owner_id));
      cursor = page.next_cursor;
    } while (cursor);
    expect(owners).toEqual(['cid', 'bob', 'ann', undefined]);
  });

  it('of one owner leave capacity for those of others', async () => {
    const w = enforced();
    for (let n = 0; n < 100; n++) await make(w, ann, { name: `t${n}` });
    await expect(make(w, ann)).rejects.toMatchObject({ code: 'resource_limit' });
    expect(await make(w, bob)).toMatchObject({ owner_id: 'bob' });
    expect(await make(w, admin, { name: 't0' })).not.toHaveProperty('owner_id');
  });
});

describe('templates while owners are not enforced', () => {
  it('are shared, whoever creates, changes or deletes them', async () => {
    const w = world();
    expect(await make(w, ann)).not.toHaveProperty('owner_id');
    expect(await imageOf(w, bob)).toBe('i');
    await expect(make(w, bob)).rejects.toMatchObject({ code: 'conflict' });
    expect(await w.control.templates.update('py', { image: 'j' }, bob, {})).toMatchObject({ version: 2 });
    await w.control.templates.delete('py', api);
    expect((await w.control.templates.list({}, api, roomy)).templates).toEqual([]);
  });
});

describe('ready sandboxes', () => {
  const ready = async (w: World) => {
    const all = (await w.store.warm.all()).map(({ template }) => template);
    return Object.fromEntries(
      [...new Set(all)].sort().map((one) => [one, all.filter((t) => t === one).length]),
    );
  };

  it('are divided between owners; a single owner may have all', async () => {
    const w = enforced({ defaults: { max_prewarm: 6 } });
    await w.control.start();
    await make(w, ann, { prewarm: 6 });
    await w.clock.advance(2000);
    expect(await ready(w)).toEqual({ 'ann/py': 6 });
    await make(w, bob, { prewarm: 1 });
    await make(w, admin, { name: 'all', prewarm: 6 });
    await w.clock.advance(2000);
    expect(await ready(w)).toEqual({ 'ann/py': 3, 'bob/py': 1, all: 2 });
  });

  it('serve only their owner, also where another owner’s template is equal', async () => {
    const w = enforced();
    await w.control.start();
    await make(w, ann, { prewarm: 1 });
    await make(w, bob);
    await w.clock.advance(1000);
    const [warm] = await w.store.warm.all();
    expect((await spawn(w, bob)).id).not.toBe(warm?.id);
    expect((await spawn(w, ann)).id).toBe(warm?.id);
  });

  it('of an owner stay within the number of sandboxes that it may have', async () => {
    const w = enforced({ defaults: { max_sandboxes_per_owner: 2 } });
    await w.control.start();
    await make(w, ann, { prewarm: 6 });
    await w.clock.advance(2000);
    expect(await ready(w)).toEqual({ 'ann/py': 2 });
  });
});
