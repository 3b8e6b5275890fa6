// Spawns that pull their image: on a server without a container engine, from a registry on loopback.
import { readFileSync } from 'node:fs';
import { afterEach, expect, it } from 'vitest';
import { Client } from '../../src/client/client.ts';
import { ociFiles } from '../support/hosts/image-archives.ts';
import { type PlainRegistry, plainRegistry } from '../support/hosts/plain-registry.ts';
import { describeWith } from '../support/requires.ts';
import { runCli } from '../support/servers/run-cli.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { tarArchive } from '../support/tar.ts';
import { until } from '../support/until.ts';

const LAYER = tarArchive(
  { name: 'bin/busybox', content: readFileSync('/bin/busybox'), mode: 0o755 },
  ...['sh', 'cat', 'sleep'].map((name) => ({ name: `bin/${name}`, type: '2', link: 'busybox' })),
  { name: 'etc/passwd', content: 'root:x:0:0::/:/bin/sh\n' },
);
const withNote = (note: string) => ociFiles({ layers: [LAYER, tarArchive({ name: 'note', content: note })] });

describeWith(['root', 'busybox', 'unshare'], 'a spawn that pulls its image', () => {
  let registry: PlainRegistry;
  let server: TestServer | undefined;
  let client: Client;
  const start = async (env: Record<string, string> = {}) => {
    registry = await plainRegistry();
    registry.put('team/tool', '1', withNote('first'));
    server = await startServer({
      env: {
        SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare',
        SVC_PROVIDERS_DEFAULT: 'userspace',
        SVC_IMAGES_REGISTRIES: registry.host,
        ...env,
      },
    });
    client = new Client({ server: server.url });
  };
  afterEach(async () => {
    await registry.close();
    await server?.stop();
    if (server) removeHome(server.home);
  });
  const name = (tag = '1') => `${registry.host}/team/tool:${tag}`;
  const manifests = (method: string) =>
    registry.requests.filter((line) => line.startsWith(`${method} `)).length;
  const pulled = (image: string) => expect.stringMatching(`^Image ${image} was pulled in \\d+\\.\\d s\\.$`);
  const note = async (id: string) => (await client.exec(id, { command: 'cat /note' })).stdout;

  it('runs the image, says that it pulled it, and pulls it once', async () => {
    await start();
    expect((await client.admission({ image: name() })).image_state).toBe('pullable');
    expect(registry.requests).toEqual([]);
    const all = await Promise.all([1, 2, 3].map(() => client.spawn({ image: name(), strict: true })));
    const fetches = registry.requests.filter((line) => line.includes('/blobs/'));
    expect(new Set(fetches).size).toBe(fetches.length);
    for (const { image, warnings } of all) {
      expect(image).toBe(name());
      expect(warnings).toEqual([pulled(name())]);
    }
    expect(await note(all[0]?.id ?? '')).toBe('first');
    const { host } = registry;
    await expect(client.spawn({ image: `${host}/team/none:1` })).rejects.toMatchObject({ code: 'not_found' });
    const events = [];
    for await (const { type, actor, data } of client.events({ type: 'image.*', follow: false }))
      events.push({ type, actor, ...data });
    expect(events).toMatchObject([
      { type: 'image.pulled', actor: 'system:image', name: name(), fetched_bytes: expect.any(Number) },
      { type: 'image.failed', name: `${host}/team/none:1`, code: 'not_found' },
    ]);
    const metrics = await (await fetch(`${server?.url}/api/v1/metrics/prometheus`)).text();
    expect(metrics).toContain('svc_image_pulls_total{outcome="pulled"} 1');
    expect(metrics).toContain('svc_image_pulls_total{outcome="failed"} 1');
    expect(metrics).toContain('svc_images 1');
    expect(metrics).toMatch(/^svc_image_store_bytes\{content="layers"\} [1-9]\d+$/m);
    const asked = registry.requests.length;
    // The failure is remembered for a moment.
    const none = Array.from({ length: 5 }, () => client.spawn({ image: `${host}/team/none:1` }));
    for (const { status } of await Promise.allSettled(none)) expect(status).toBe('rejected');
    const again = await client.spawn({ image: name() });
    expect(again.warnings).toBeUndefined();
    expect(registry.requests).toHaveLength(asked);
    expect((await client.admission({ image: name() })).image_state).toBe('present');
  });

  it('takes pull from the template, and shows what runs', async () => {
    await start();
    const template = await client.templates.create({ name: 'own', image: name(), pull: 'never' });
    expect(template.pull).toBe('never');
    await expect(client.templates.spawn('own')).rejects.toMatchObject({ code: 'not_found' });
    const made = await client.templates.spawn('own', { pull: 'missing' });
    expect(made.image_digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect((await client.get(made.id)).image_digest).toBe(made.image_digest);
    expect((await client.templates.spawn('own')).image_digest).toBe(made.image_digest);
    expect(await client.spawn({ image: 'host' })).not.toHaveProperty('image_digest');
    await client.templates.update('own', { image: name() });
    expect(await client.templates.get('own')).not.toHaveProperty('pull');
    await expect(
      client.templates.create({ name: 'other', image: name(), pull: 'always' }),
    ).rejects.toMatchObject({ code: 'bad_request' });
  });

  it('asks the registry at each spawn with always, and takes the image that the tag leads to now', async () => {
    await start({ SVC_IMAGES_PULL: 'always' });
    await client.spawn({ image: name() });
    registry.put('team/tool', '1', withNote('second'));
    const soon = await client.spawn({ image: name() });
    expect(await note(soon.id)).toBe('first');
    await server?.stop();
    server = await startServer({ home: server?.home ?? '', env: server?.env ?? {} });
    client = new Client({ server: server.url });
    const later = await client.spawn({ image: name() });
    expect(await note(later.id)).toBe('second');
    const held = await client.spawn({ image: name(), pull: 'missing' });
    expect(held.warnings).toBeUndefined();
    expect(manifests('HEAD')).toBeGreaterThan(0);
  });

  it.each<[string, (own: string) => object, number, string, RegExp]>([
    [
      'an image that the registry lacks',
      (own) => ({ image: `${own}/team/none:1` }),
      404,
      'not_found',
      /does not have/,
    ],
    [
      'a registry that is not allowed',
      () => ({ image: 'ghcr.io/acme/tool:1' }),
      403,
      'forbidden',
      /does not pull/,
    ],
    [
      'a wish to pull nothing',
      (own) => ({ image: `${own}/team/tool:1`, pull: 'never' }),
      404,
      'not_found',
      /is not pulled/,
    ],
    [
      'a wish for more than images.pull',
      (own) => ({ image: `${own}/team/tool:1`, pull: 'always' }),
      400,
      'bad_request',
      /at most missing/,
    ],
    ['an unknown policy', () => ({ image: 'a', pull: 'now' }), 400, 'bad_request', /pull/],
  ])('is refused for %s', async (_, request, status, code, words) => {
    await start();
    const body = JSON.stringify(request(registry.host));
    const answer = await fetch(`${server?.url}/api/v1/sandboxes`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({ code, message: expect.stringMatching(words) });
    for await (const left of client.list()) expect(left).toBeUndefined();
  });

  it('answers 503 with Retry-After when the pull takes longer, and the pull continues', async () => {
    await start({ SVC_IMAGES_SPAWN_WAIT: '1s' });
    registry.hold();
    const answer = await fetch(`${server?.url}/api/v1/sandboxes`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ image: name() }),
    });
    expect(answer.status).toBe(503);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await answer.json()).toMatchObject({
      message: expect.stringContaining(`Image ${name()} is still being pulled.`),
    });
    registry.release();
    // On a busy machine the rest of the pull may take longer than a second, too.
    const spawned = await until('the pull is over', () =>
      client.spawn({ image: name() }).catch((error: { code?: string }) => {
        if (error.code !== 'unavailable') throw error;
        return undefined;
      }),
    );
    expect(spawned.image).toBe(name());
    expect(registry.requests.filter((line) => line.includes('/manifests/'))).toHaveLength(1);
  });

  it('says that no registry can have the image', async () => {
    await start();
    await expect(client.spawn({ image: 'UPPER/case' })).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('registries have no such names. Use [registry/]path[:tag]'),
    });
  });

  it('answers 503 with Retry-After when the registry cannot be reached', async () => {
    await start();
    await registry.close();
    await expect(client.spawn({ image: name() })).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('runs on the default root with a warning where nothing is pulled, unless it is strict', async () => {
    await start({ SVC_IMAGES_PULL: 'never' });
    const warning = `Image ${name()} is not on this machine: the sandbox runs on host.`;
    const made = await client.spawn({ image: name() });
    expect([made.image, made.warnings]).toEqual(['host', [warning]]);
    await expect(client.spawn({ image: name(), strict: true })).rejects.toMatchObject({
      code: 'precondition_failed',
      message: expect.stringContaining(warning),
    });
    expect(registry.requests).toEqual([]);
  });

  it('does not pull the default image that a client or a template names, unless the request says so', async () => {
    const image = 'alpine:latest';
    await start();
    const made = await client.spawn({ image });
    expect(made.warnings).toEqual([`Image ${image} is not on this machine: the sandbox runs on host.`]);
    await client.templates.create({ name: 'plain', image });
    expect((await client.templates.spawn('plain')).image).toBe('host');
    await expect(client.spawn({ image, pull: 'missing' })).rejects.toMatchObject({ code: 'forbidden' });
  });

  it('refuses differences by defaults.strict, unless the request says otherwise', async () => {
    await start({ SVC_DEFAULTS_STRICT: 'true', SVC_PROVIDERS_USERSPACE_MAX_MEMORY_MB: '64' });
    await expect(client.spawn({ memory_mb: 128 })).rejects.toMatchObject({ code: 'precondition_failed' });
    expect((await client.spawn({ memory_mb: 128, strict: false })).memory_mb).toBe(64);
  });

  it('pulls from the command line, without a container engine', async () => {
    await start();
    const env = { ...server?.env, SVC_SERVER: server?.url ?? '' };
    const args = ['sandbox', 'run', '--image', name(), '--pull', 'missing', '--', 'cat', '/note'];
    const run = await runCli(args, env);
    expect(run).toMatchObject({ code: 0, stdout: 'first' });
    expect(run.stderr).toContain('was pulled in');
  });
});
