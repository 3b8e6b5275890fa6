// Links and connections of previews, through the whole control plane.
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { previews } from '../../../../src/control/access/previews.ts';
import type { SandboxAccess } from '../../../../src/control/access/session-access.ts';
import type { ServiceError } from '../../../../src/domain/errors.ts';
import { FAKE_PORT } from '../../../support/fakes/io.ts';
import { admin, api, forever, owned, world } from '../../../support/servers/control.ts';

const signed = { server: { preview_domain: 'p.test', preview_access: 'signed' } } as const;
const seen = { scheme: 'http', port: '7423' } as const;

async function withSandbox(config: Parameters<typeof world>[0]) {
  const made = world(config);
  const sandbox = await made.control.sandboxes.spawn({ ttl: '30m' }, api, {}, forever);
  return { ...made, sandbox, previews: made.control.previews };
}

describe('a link', () => {
  it('that is public ends with the sandbox and takes no ttl', async () => {
    const { sandbox, previews } = await withSandbox({ server: { preview_domain: 'p.test' } });
    expect(sandbox.preview_domain).toBe('p.test');
    expect(await previews.link(sandbox.id, { port: 80 }, api, seen)).toEqual({
      url: `http://80-${sandbox.id}.p.test:7423/`,
      expires_at: sandbox.expires_at,
    });
    await expect(previews.link(sandbox.id, { port: 80, ttl: '5m' }, api, seen)).rejects.toMatchObject({
      code: 'bad_request',
    });
  });

  it('that is signed carries a token for its port and time, never past the sandbox', async () => {
    const { sandbox, previews, clock } = await withSandbox(signed);
    const short = await previews.link(sandbox.id, { port: 80, ttl: '5m' }, api, {
      scheme: 'https',
      port: '',
    });
    const { origin, searchParams } = new URL(short.url);
    expect(origin).toBe(`https://80-${sandbox.id}.p.test`);
    const token = searchParams.get('svc_preview') ?? '';
    const target = { sandbox_id: sandbox.id, port: 80 };
    const end = previews.endOfToken(target, token);
    expect([new Date(end ?? 0).toISOString(), end]).toEqual([short.expires_at, clock.now() + 300_000]);
    expect(previews.endOfToken({ ...target, port: 81 }, token)).toBeUndefined();
    await clock.advance(300_000);
    expect(previews.endOfToken(target, token)).toBeUndefined();
    for (const ttl of [undefined, '8h']) {
      const request = { port: 80, ...(ttl !== undefined && { ttl }) };
      expect((await previews.link(sandbox.id, request, api, seen)).expires_at).toBe(sandbox.expires_at);
    }
    for (const ttl of ['0s', 'soon'])
      await expect(previews.link(sandbox.id, { port: 80, ttl }, api, seen)).rejects.toMatchObject({
        code: 'bad_request',
      });
  });

  it('starts with the configured scheme', async () => {
    const { sandbox, previews } = await withSandbox({
      server: { preview_domain: 'p.test', preview_scheme: 'https' },
    });
    const { url } = await previews.link(sandbox.id, { port: 80 }, api, seen);
    expect(url).toBe(`https://80-${sandbox.id}.p.test/`);
  });

  it('keeps its signing key over a restart, and uses another once configured', async () => {
    const made = await withSandbox(signed);
    const { url } = await made.previews.link(made.sandbox.id, { port: 80 }, api, seen);
    const token = new URL(url).searchParams.get('svc_preview') ?? '';
    const target = { sandbox_id: made.sandbox.id, port: 80 };
    expect(made.previews.endOfToken(target, token)).toBeDefined();
    const other = world({ server: { ...signed.server, preview_signing_key: 'k'.repeat(32) } });
    expect(other.control.previews.endOfToken(target, token)).toBeUndefined();
  });

  it('is made only for callers who may see the sandbox, where previews are configured', async () => {
    const bare = await withSandbox({});
    expect(bare.sandbox.preview_domain).toBeUndefined();
    const link = () => bare.previews.link(bare.sandbox.id, { port: 80 }, api, seen);
    await expect(link()).rejects.toMatchObject({ code: 'not_implemented' });
    const made = world({ ...signed, auth: { enforce_owner: true } });
    const { id } = await made.control.sandboxes.spawn({}, owned('ann'), {}, forever);
    const ask = (caller: typeof api) => made.control.previews.link(id, { port: 80 }, caller, seen);
    await expect(ask(owned('bob'))).rejects.toMatchObject({ code: 'not_found' });
    await expect(ask(owned('ann'))).resolves.toBeDefined();
    await expect(ask(admin)).resolves.toBeDefined();
    await expect(made.control.previews.link('sb-no', { port: 80 }, admin, seen)).rejects.toMatchObject({
      code: 'not_found',
    });
  });
});

describe('a connection', () => {
  it('to a missing or ended sandbox answers 502 with the same message', async () => {
    const { sandbox, previews, control } = await withSandbox(signed);
    await control.sandboxes.destroy(sandbox.id, api);
    const refusals = await Promise.all(
      [sandbox.id, 'sb-aaaaaaaaaaaa'].map((sandbox_id) =>
        previews.open({ sandbox_id, port: 80 }, forever).catch((error: ServiceError) => error),
      ),
    );
    for (const refusal of refusals)
      expect(refusal).toMatchObject({ code: 'unavailable', status: 502, details: undefined });
    expect(new Set(refusals.map((refusal) => (refusal as ServiceError).message)).size).toBe(1);
  });

  it('carries bytes, and ends with its signal or its session', async () => {
    const { sandbox, previews, fake } = await withSandbox(signed);
    const target = { sandbox_id: sandbox.id, port: FAKE_PORT };
    const tunnel = await previews.open(target, forever);
    tunnel.write('hi');
    expect(String((await once(tunnel, 'data'))[0])).toBe('hi');
    tunnel.destroy();
    fake.crash(sandbox.id);
    await expect(previews.open(target, forever)).rejects.toMatchObject({ status: 502 });
  });

  it('to a port where nothing listens answers 502 without an inspection of the sandbox', async () => {
    const { sandbox, previews, provider } = await withSandbox(signed);
    const refusal = previews.open({ sandbox_id: sandbox.id, port: 81 }, forever);
    await expect(refusal).rejects.toMatchObject({ code: 'unavailable', status: 502 });
    expect(provider.calls.inspect).toBe(0);
  });

  it('is refused where sandboxes share the network of the host', async () => {
    const { config, store, clock } = world(signed);
    const row = { id: 'sb-a', provider: 'userspace', expires_at: '2030-01-01T00:00:00.000Z', metadata: {} };
    const made = previews({
      ...{ server: config.current().server, store, clock },
      runtimes: { capabilities: async () => ['exec'] },
      access: { find: async () => row } as unknown as SandboxAccess,
    });
    const none = { code: 'not_implemented', status: 501 };
    await expect(made.link('sb-a', { port: 80 }, api, seen)).rejects.toMatchObject(none);
    await expect(made.open({ sandbox_id: 'sb-a', port: 80 }, forever)).rejects.toMatchObject(none);
  });
});
