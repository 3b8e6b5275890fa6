// Templates: what is stored, who sees which values, spawning with overrides, and setup that works or fails.
import { describe, expect, it } from 'vitest';
import { ByteLedger, SERVICE_ACCOUNT } from '../../../../src/domain/byte-ledger.ts';
import { ServiceError } from '../../../../src/domain/errors.ts';
import type { TemplateCreate } from '../../../../src/schema/template.ts';
import { admin, api, forever, owned, roomy, type World, world } from '../../../support/servers/control.ts';

/** Of sandboxes. */
const types = (events: { type: string }[]) =>
  events.map(({ type }) => type).filter((type) => type !== 'template.created');
const make = (w: World, more: Partial<TemplateCreate> = {}) =>
  w.control.templates.create({ name: 'py', image: 'python:3', ...more }, api);
const spawn = (w: World, overrides = {}, caller = api, options = {}) =>
  w.control.templates.spawn('py', overrides, caller, options, forever);

describe('a template', () => {
  it('shows every effective value, and counts its versions', async () => {
    const w = world();
    const made = await make(w, { ttl: '90m', description: 'd' });
    const stamp = new Date(w.clock.now()).toISOString();
    expect(made).toEqual({
      ...{ name: 'py', version: 1, description: 'd', image: 'python:3', memory_mb: 512, vcpus: 1 },
      ...{ ttl: '1h30m', prewarm: 0, created_at: stamp, updated_at: stamp },
    });
    expect(await w.control.templates.get('py', api)).toEqual(made);
    await w.clock.advance(1000);
    const next = await w.control.templates.update('py', { image: 'python:4', name: 'py' }, api, {});
    const later = new Date(w.clock.now()).toISOString();
    expect(next).toMatchObject({ version: 2, ttl: '30m', created_at: stamp, updated_at: later });
    expect(next).not.toHaveProperty('description');
    await w.control.templates.delete('py', api);
    for (const gone of [
      () => w.control.templates.get('py', api),
      () => w.control.templates.update('py', { image: 'x' }, api, {}),
      () => w.control.templates.delete('py', api),
      () => spawn(w),
    ])
      await expect(gone()).rejects.toMatchObject({ code: 'not_found' });
  });

  it.each<[string, Partial<TemplateCreate>, object]>([
    ['an unknown provider', { provider: 'nope' }, { code: 'not_found' }],
    ['an invalid image', { image: 'a b' }, { code: 'bad_request' }],
    ['an invalid ttl', { ttl: 'soon' }, { code: 'bad_request' }],
    ['a ttl over the maximum', { ttl: '25h' }, { code: 'resource_limit' }],
    ['NUL in env', { env: { A: '\0' } }, { code: 'bad_request' }],
    ['a masked value', { env: { A: '***' } }, { code: 'bad_request' }],
    ['NUL in setup', { setup: ['a\0'] }, { code: 'bad_request' }],
    ['a blank command', { setup: [' '] }, { code: 'bad_request' }],
    ['more prewarmed sandboxes than allowed', { prewarm: 33 }, { code: 'resource_limit' }],
  ])('refuses %s, new and as an update', async (_, facts, error) => {
    const w = world();
    await expect(make(w, facts)).rejects.toMatchObject(error);
    await make(w);
    const update = w.control.templates.update('py', { image: 'i', ...facts }, api, {});
    await expect(update).rejects.toMatchObject(error);
    expect(await w.control.templates.get('py', api)).toMatchObject({ version: 1 });
  });

  it('may name a provider that only a worker has', async () => {
    const w = world();
    const named = { provider: 'microvm' } as const;
    await expect(make(w, named)).rejects.toMatchObject({ code: 'not_found' });
    await w.control.workers.heartbeat('w1', { providers: ['microvm'], rpc_url: 'http://10.0.0.9:7500' });
    expect(await make(w, named)).toMatchObject(named);
    const request = { image: 'python:4', ...named };
    expect(await w.control.templates.update('py', request, api, {})).toMatchObject({ version: 2, ...named });
  });

  it('refuses an image that no provider can start', async () => {
    const refusal = new ServiceError('bad_request', 'Image evil is not one that this server allows.');
    const refuseImage = (image: string) => {
      if (image === 'evil') throw refusal;
    };
    const w = world({}, { refuseImage });
    await expect(make(w, { image: 'evil' })).rejects.toBe(refusal);
    await expect(make(w, { image: 'evil', provider: 'userspace' })).rejects.toBe(refusal);
    await make(w);
    await expect(w.control.templates.update('py', { image: 'evil' }, api, {})).rejects.toBe(refusal);
    expect(await w.control.templates.get('py', api)).toMatchObject({ image: 'python:3', version: 1 });
  });

  it('has a unique, fixed name, and changes only with its current version', async () => {
    const w = world();
    await make(w);
    await expect(make(w)).rejects.toMatchObject({ code: 'conflict' });
    const update = (facts: object, options = {}) =>
      w.control.templates.update('py', { image: 'i', ...facts }, api, options);
    await expect(update({ name: 'other' })).rejects.toMatchObject({ code: 'bad_request' });
    const stale = { code: 'precondition_failed', status: 412, details: { version: 1 } };
    await expect(update({}, { versions: [2] })).rejects.toMatchObject(stale);
    expect(await update({}, { versions: [1] })).toMatchObject({ version: 2 });
  });

  it('keeps env values that a client sends back masked', async () => {
    const w = world();
    const { templates } = w.control;
    const env = { TOKEN: 'hush', OLD: 'x' };
    await templates.create({ name: 't', image: 'i', env }, api);
    await templates.update('t', { image: 'j', env: { TOKEN: '***', NEW: 'y' } }, api, {});
    expect(await templates.get('t', admin)).toMatchObject({ image: 'j', env: { TOKEN: 'hush', NEW: 'y' } });
    await expect(templates.update('t', { image: 'j', env: { OLD: '***' } }, api, {})).rejects.toMatchObject({
      code: 'bad_request',
    });
  });

  it('keeps a masked value that another update changed meanwhile', async () => {
    const w = world();
    const { templates } = w.control;
    await templates.create({ name: 't', image: 'i', env: { TOKEN: 'old' } }, api);
    await Promise.all([
      templates.update('t', { image: 'j', env: { TOKEN: '***' } }, api, {}),
      templates.update('t', { image: 'k', env: { TOKEN: 'new' } }, admin, {}),
    ]);
    expect((await templates.get('t', admin)).env).toEqual({ TOKEN: 'new' });
  });

  it('shows env values only to administrators, in every answer', async () => {
    const w = world();
    const env = { TOKEN: 'hush', EMPTY: '' };
    const masked = { TOKEN: '***', EMPTY: '***' };
    for (const [caller, shown] of [
      [api, masked],
      [owned('ann'), masked],
      [admin, env],
    ] as const) {
      const { templates } = w.control;
      const name = `t-${caller.role}${caller.owner ?? ''}`;
      expect((await templates.create({ name, image: 'i', env }, caller)).env).toEqual(shown);
      expect((await templates.update(name, { image: 'i', env }, caller, {})).env).toEqual(shown);
      expect((await templates.get(name, caller)).env).toEqual(shown);
      expect((await templates.list({}, caller, roomy)).templates[0]?.env).toEqual(shown);
    }
    expect((await spawn(w).catch((error: unknown) => error)) as object).toMatchObject({ code: 'not_found' });
  });

  it('is listed in pages', async () => {
    const w = world();
    for (const name of ['a', 'b', 'c']) await w.control.templates.create({ name, image: 'i' }, api);
    const names: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await w.control.templates.list({ limit: 2, ...(cursor && { cursor }) }, api, roomy);
      names.push(...page.templates.map(({ name }) => name));
      cursor = page.next_cursor;
    } while (cursor);
    expect(names).toEqual(['c', 'b', 'a']);
    await expect(w.control.templates.list({ cursor: 'x' }, api, roomy)).rejects.toMatchObject({
      code: 'bad_request',
    });
  });

  it('is listed in shorter pages where templates are large, with none missing', async () => {
    const w = world();
    const asked: number[] = [];
    const { list } = w.store.templates;
    w.store.templates.list = (filter) => {
      asked.push(filter.limit);
      return list(filter);
    };
    const setup = Array(15).fill('x'.repeat(65_000));
    for (let n = 0; n < 12; n++) await w.control.templates.create({ name: `t${n}`, image: 'i', setup }, api);
    const ledger = new ByteLedger(100_000_000, w.clock);
    const sizes: number[] = [];
    let cursor: string | undefined;
    do {
      const hold = ledger.open(SERVICE_ACCOUNT);
      const page = await w.control.templates.list(cursor === undefined ? {} : { cursor }, api, hold);
      sizes.push(page.templates.length);
      expect(hold.bytes).toBeGreaterThan(page.templates.length * 15 * 65_000);
      hold.release();
      cursor = page.next_cursor;
    } while (cursor);
    expect(Math.max(...sizes)).toBeLessThan(6);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(12);
    expect(Math.max(...asked)).toBeLessThan(5);
  });
});

describe('a spawn from a template', () => {
  const facts = {
    ...{ memory_mb: 128, vcpus: 2, ttl: '1h', network: 'none' as const },
    ...{ metadata: { a: '1', b: '1' }, env: { A: '1', B: '1' } },
  };

  it('has the values and the name of the template', async () => {
    const w = world();
    await make(w, facts);
    const sandbox = await spawn(w);
    expect(sandbox).toMatchObject({
      ...{ template: 'py', memory_mb: 128, vcpus: 2, metadata: facts.metadata, state: 'running' },
      expires_at: new Date(w.clock.now() + 3_600_000).toISOString(),
    });
    expect(await w.store.sandboxes.get(sandbox.id)).toMatchObject({ env: facts.env, network: 'none' });
    const same = await w.control.sandboxes.spawn({ template: 'py' }, api, {}, forever);
    expect({ ...same, id: sandbox.id }).toEqual(sandbox);
    await w.control.sandboxes.spawn({}, api, {}, forever);
    const listed = await w.control.sandboxes.list({ template: 'py' }, api);
    expect(listed.sandboxes.map(({ id }) => id)).toEqual([same.id, sandbox.id]);
  });

  it('lets the request override, maps key by key, and X-User-ID win over owner_id', async () => {
    const w = world();
    await make(w, facts);
    const overrides = { memory_mb: 64, ttl: '5m', metadata: { b: '2', c: '2' }, env: { B: '2' } };
    const sandbox = await spawn(w, { ...overrides, owner_id: 'bob' }, owned('ann'));
    expect(sandbox).toMatchObject({ memory_mb: 64, vcpus: 2, owner_id: 'ann' });
    expect(sandbox.metadata).toEqual({ a: '1', b: '2', c: '2' });
    expect((await w.store.sandboxes.get(sandbox.id))?.env).toEqual({ A: '1', B: '2' });
    expect(await spawn(w, { owner_id: 'bob' })).toMatchObject({ owner_id: 'bob' });
  });

  it('refuses another image, and maps that grow too large', async () => {
    const w = world();
    await make(w, facts);
    const both = w.control.sandboxes.spawn({ template: 'py', image: 'i' }, api, {}, forever);
    await expect(both).rejects.toMatchObject({ code: 'bad_request' });
    const metadata = Object.fromEntries(Array.from({ length: 63 }, (_, i) => [`k${i}`, '']));
    await expect(spawn(w, { metadata })).rejects.toMatchObject({ code: 'bad_request' });
    expect(w.fake.made).toEqual([]);
  });

  it('stores an Idempotency-Key by path and body', async () => {
    const w = world();
    await make(w);
    const options = { idempotencyKey: 'k' };
    const first = await spawn(w, {}, api, options);
    expect((await spawn(w, {}, api, options)).id).toBe(first.id);
    for (const other of [
      spawn(w, { ttl: '5m' }, api, options),
      w.control.sandboxes.spawn({ template: 'py' }, api, options, forever),
    ])
      await expect(other).rejects.toMatchObject({ code: 'conflict' });
    await w.control.templates.update('py', { image: 'another' }, api, {});
    expect((await spawn(w, {}, api, options)).id).toBe(first.id);
    await w.control.templates.delete('py', api);
    expect((await spawn(w, {}, api, options)).id).toBe(first.id);
  });

  it('needs an owner under owner enforcement', async () => {
    const w = world({ auth: { enforce_owner: true } });
    await w.control.templates.create({ name: 'py', image: 'python:3' }, admin);
    await expect(spawn(w)).rejects.toMatchObject({ code: 'bad_request' });
    expect(await spawn(w, {}, owned('ann'))).toMatchObject({ owner_id: 'ann' });
  });
});

describe('setup', () => {
  it('runs in order with the environment before the sandbox is running', async () => {
    const w = world();
    const seen: unknown[] = [];
    for (const command of ['one', 'two'])
      w.fake.programs.set(command, async ({ spec }) => {
        const [row] = (await w.control.sandboxes.list({}, api)).sandboxes;
        seen.push([command, row?.state, spec.env, spec.timeoutMs]);
        await w.clock.advance(1000);
        return {};
      });
    await make(w, { setup: ['one', 'two'], env: { A: '1' } });
    expect(await spawn(w, { env: { B: '2' } })).toMatchObject({ state: 'running' });
    const env = { A: '1', B: '2' };
    expect(seen).toEqual([
      ['one', 'creating', env, 600_000],
      ['two', 'creating', env, 599_000],
    ]);
    expect(types(await w.events())).toEqual(['sandbox.created', 'sandbox.running']);
  });

  it('that fails ends the spawn, names the command, shows the end of its output, and leaves nothing behind', async () => {
    const w = world();
    w.fake.programs.set('good', async () => ({}));
    w.fake.programs.set('bad', async ({ write }) => {
      await write('stdout', `${'x'.repeat(5000)}`);
      await write('stderr', 'no such package');
      return { exit_code: 7 };
    });
    await make(w, { setup: ['good', 'bad', 'never'] });
    const error = (await spawn(w).catch((e: unknown) => e)) as { details: { output: string } };
    expect(error).toMatchObject({
      ...{ code: 'bad_request', message: 'Setup command 2 ended with 7.' },
      details: { setup_command: 2, command: 'bad', exit_code: 7 },
    });
    expect(error.details.output).toHaveLength(4096);
    expect(error.details.output.endsWith('xno such package')).toBe(true);
    expect(w.fake.runtimes.size).toBe(0);
    const [row] = (await w.control.sandboxes.list({ include_ended: true }, api)).sandboxes;
    expect(row).toMatchObject({ state: 'error', end_reason: 'spawn_failed', template: 'py' });
    const told = ['sandbox.created', 'operation.failed', 'sandbox.error'];
    expect(types(await w.events())).toEqual(told);
  });

  it('that does not end is stopped at the limit for all commands', async () => {
    const w = world({ defaults: { max_exec_timeout: '10s' } });
    w.fake.programs.set('slow', async ({ spec }) => {
      await w.clock.advance(4000);
      return spec.timeoutMs && spec.timeoutMs < 4000 ? { timed_out: true, exit_code: 137 } : {};
    });
    await make(w, { setup: ['slow', 'slow', 'slow', 'slow'] });
    await expect(spawn(w)).rejects.toMatchObject({ code: 'timeout', details: { setup_command: 3 } });
    expect(w.fake.runtimes.size).toBe(0);
  });

  it('is cut off when the sandbox is destroyed', async () => {
    const w = world();
    let killed: AbortSignal | undefined;
    w.fake.programs.set('wait', (run) => {
      killed = run.killed;
      return new Promise(() => {});
    });
    await make(w, { setup: ['wait'] });
    const spawned = spawn(w).catch((error: unknown) => error);
    await w.clock.advance(0);
    const [row] = (await w.control.sandboxes.list({}, api)).sandboxes;
    await w.control.sandboxes.destroy(row?.id ?? '', api);
    expect(await spawned).toMatchObject({ code: 'conflict' });
    expect(killed?.aborted).toBe(true);
    expect(w.fake.runtimes.size).toBe(0);
    await expect(w.control.sandboxes.get(row?.id ?? '', api)).rejects.toMatchObject({
      details: { end_reason: 'destroyed' },
    });
  });

  it('in a sandbox that dies fails the spawn', async () => {
    const w = world();
    w.fake.programs.set('die', async () => {
      for (const { id } of w.fake.runtimes.values()) w.fake.crash(id);
      return new Promise(() => {});
    });
    await make(w, { setup: ['die'] });
    await expect(spawn(w)).rejects.toMatchObject({ code: 'unavailable' });
    expect(w.fake.runtimes.size).toBe(0);
  });
});
