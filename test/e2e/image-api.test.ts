// Images over the API of a real server: pulled from Debian's registry, imported, and not there for other owners; on the server and
// on a worker.
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { Client } from '../../src/client/client.ts';
import { type RealRegistry, realRegistry } from '../support/hosts/docker-registry.ts';
import { ociFiles, tarOf } from '../support/hosts/image-archives.ts';
import { describeWith, itWith } from '../support/requires.ts';
import { packageRoot, removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { tarArchive } from '../support/tar.ts';
import { until } from '../support/until.ts';

const LAYER = tarArchive(
  { name: 'bin/busybox', content: readFileSync('/bin/busybox'), mode: 0o755 },
  ...['sh', 'cat', 'sleep'].map((name) => ({ name: `bin/${name}`, type: '2', link: 'busybox' })),
);
const KEYS = {
  SVC_AUTH_ENABLED: 'true',
  SVC_AUTH_API_KEY: 'k'.repeat(32),
  SVC_AUTH_ADMIN_API_KEY: 'a'.repeat(32),
};
const ADMIN = { 'x-admin-api-key': KEYS.SVC_AUTH_ADMIN_API_KEY };
const as = (owner: string) => ({ 'x-api-key': KEYS.SVC_AUTH_API_KEY, 'x-user-id': owner });

interface Listed {
  name: string;
  worker_id: string;
  digest: string;
}

describeWith(['root', 'busybox', 'unshare', 'docker-registry', 'openssl'], 'images over the API', () => {
  let registry: RealRegistry;
  let server: TestServer;
  afterEach(() => server?.stop());

  const start = async (onWorker: boolean) => {
    registry = await realRegistry('basic');
    await registry.put('team/tool', { files: ociFiles({ layers: [LAYER] }) }, '1');
    server = await startServer({
      onWorker,
      env: {
        ...KEYS,
        SVC_AUTH_ENFORCE_OWNER: 'true',
        SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare',
        SVC_PROVIDERS_DEFAULT: 'userspace',
        SVC_IMAGES_REGISTRIES: registry.host,
        SVC_IMAGES_DOCKER_CONFIG: registry.dockerConfig,
        SVC_IMAGES_PRIVATE_OWNERS: 'ann',
        SVC_IMAGES_WRITES: 'api',
        NODE_EXTRA_CA_CERTS: registry.caFile,
      },
    });
    onTestFinished(() => removeHome(server.home));
  };
  const call = async (method: string, path: string, headers: Record<string, string>, json?: unknown) => {
    const type = json === undefined ? undefined : { 'content-type': 'application/json' };
    const body = json === undefined ? {} : { body: JSON.stringify(json) };
    const answer = await fetch(`${server.url}/api/v1${path}`, {
      method,
      headers: { ...headers, ...type },
      ...body,
    });
    const text = await answer.text();
    return { status: answer.status, text };
  };
  /** The server and its worker share a store here. */
  const names = async (headers: Record<string, string>) => {
    const listed = JSON.parse((await call('GET', '/images', headers)).text) as Listed[];
    return [...new Set(listed.map(({ name }) => name))];
  };
  const sendTar = async (path: string, bytes: Buffer) => {
    const headers = { ...ADMIN, 'content-type': 'application/x-tar' };
    const answer = await fetch(`${server.url}/api/v1${path}`, {
      method: 'POST',
      headers,
      body: new Uint8Array(bytes),
    });
    return { status: answer.status, text: await answer.text() };
  };

  it.each([false, true])(
    'are pulled by their owner, and not there for others; on a worker: %s',
    async (onWorker) => {
      await start(onWorker);
      const image = `${registry.host}/team/tool:1`;
      const { status, text } = await call('POST', '/images/pull', as('ann'), { image, stream: true });
      expect(status).toBe(200);
      const lines = text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line));
      expect(lines.map(({ stage }) => stage).at(-1)).toBe('done');
      if (!onWorker) expect(lines.map(({ stage }) => stage)).toContain('unpack');
      const [pulled] = lines.at(-1).images;
      expect(pulled).toMatchObject({ name: image, private: true, unchanged: false, runnable: true });
      const { digest } = pulled;

      expect(await names(as('ann'))).toEqual([image]);
      expect(await names(as('bob'))).toEqual([]);
      const query = (name: string) => `name=${encodeURIComponent(name)}`;
      const pinned = `${registry.host}/team/tool@${digest}`;
      const other = `${registry.host}/team/none:1`;
      const words = (answer: { text: string }, name: string) =>
        JSON.parse(answer.text)
          .message.replaceAll(name, '')
          .replace(/ at .*$/, '');
      for (const name of [image, digest]) {
        const tag = { name, as: 'mine:1' };
        for (const answer of [
          await call('GET', `/images/get?${query(name)}`, as('bob')),
          await call('DELETE', `/images?${query(name)}`, as('bob')),
          await call('POST', '/images/tag', as('bob'), tag),
        ]) {
          expect(answer.status).toBe(404);
          expect(answer.text).not.toContain('private');
        }
      }
      for (const name of [image, pinned]) {
        const refused = await call('POST', '/images/pull', as('bob'), { image: name });
        const absent = await call('POST', '/images/pull', as('bob'), { image: other });
        expect([refused.status, words(refused, name)]).toEqual([absent.status, words(absent, other)]);
      }
      expect(await names(as('bob'))).toEqual([]);

      const tagged = await call('POST', '/images/tag', as('ann'), { name: image, as: 'tool:stable' });
      expect(tagged.status).toBe(200);
      expect(await names(as('bob'))).toEqual([]);
      expect(await names(ADMIN)).toEqual(['tool:stable', image].sort());
      expect((await call('DELETE', `/images?${query(image)}`, as('ann'))).status).toBe(200);
      const trial = JSON.parse(
        (await call('POST', '/images/prune', ADMIN, { all: true, dry_run: true })).text,
      );
      expect(trial.removed).toEqual(['tool:stable']);
      expect(
        JSON.parse((await call('POST', '/images/prune', as('bob'), { all: true })).text).removed,
      ).toEqual([]);
      expect(JSON.parse((await call('POST', '/images/prune', ADMIN, { all: true })).text).removed).toEqual([
        'tool:stable',
      ]);
      expect(await names(ADMIN)).toEqual([]);
      const events = await call('GET', '/events?follow=false&type=image.*', ADMIN);
      expect(events.text).toContain('image.pulled');
      expect(events.text).toContain('image.removed');
    },
  );

  it.each([false, true])(
    'are imported, run, and not removed while they run; on a worker: %s',
    async (onWorker) => {
      await start(onWorker);
      const bytes = tarOf(ociFiles({ layers: [LAYER], name: 'team/other:1' }));
      const imported = await sendTar('/images/import?name=team/box:1&stream=true', bytes);
      expect(imported.text.trim().split('\n').at(-1)).toContain('"stage":"done"');
      expect(await names(as('bob'))).toEqual(['team/box:1']);
      const made = await call('POST', '/sandboxes', as('bob'), { image: 'team/box:1', pull: 'never' });
      expect([made.status, JSON.parse(made.text).image]).toEqual([201, 'team/box:1']);
      const busy = await call('DELETE', '/images?name=team/box:1', ADMIN);
      expect([busy.status, JSON.parse(busy.text).details]).toMatchObject([409, { sandboxes: 1 }]);
      await call('DELETE', `/sandboxes/${JSON.parse(made.text).id}`, as('bob'));
      expect((await call('DELETE', '/images?name=team/box:1', ADMIN)).status).toBe(200);
      const damaged = await sendTar('/images/import?name=team/box:1', Buffer.from('not a tar'));
      expect(damaged.status).toBeGreaterThanOrEqual(400);

      // A client that leaves in the middle.
      const headers = { ...ADMIN, 'content-type': 'application/x-tar' };
      const sent = request(`${server.url}/api/v1/images/import?name=team/box:1`, { method: 'POST', headers });
      sent.on('error', () => {});
      sent.write(bytes.subarray(0, bytes.length / 2));
      await new Promise((resolve) => setTimeout(resolve, 300));
      sent.destroy();
      await until(
        'an import succeeds after it',
        async () => (await sendTar('/images/import?name=team/box:2', bytes)).status === 200,
      );
      expect(await names(ADMIN)).toEqual(['team/box:2']);
    },
  );

  const seenBy = (host: string) => ({
    pulled: [`${host}/team/tool:1`],
    last: ['done', 'done'],
    same: true,
    imported: 'team/box:1',
    listed: [`${host}/team/tool:1`, 'mine:1', 'team/box:1', 'team/box:2'].sort(),
    absent: 'not_found',
  });

  it('are pulled, tagged, imported, listed and deleted by the TypeScript client', async () => {
    await start(false);
    const image = `${registry.host}/team/tool:1`;
    const bytes = tarOf(ociFiles({ layers: [LAYER] }));
    const { images } = new Client({ server: server.url, adminKey: ADMIN['x-admin-api-key'] });
    const pulled = (await images.pull({ image })).images.map(({ name }) => name);
    const stagesOf = async (lines: AsyncIterable<{ stage: string }>) => {
      const stages: string[] = [];
      for await (const { stage } of lines) stages.push(stage);
      return stages.at(-1);
    };
    const pulledAgain = await stagesOf(images.watchPull({ image }));
    const { digest } = await images.get(image);
    const [tagged] = (await images.tag({ name: image, as: 'mine:1' })).images;
    const [imported] = (await images.import(bytes, { name: 'team/box:1' })).images;
    const source = () => Readable.from([bytes]);
    const last = await stagesOf(images.watchImport(source, { name: 'team/box:2' }));
    const listed = [...new Set((await images.page()).images.map(({ name }) => name))].sort();
    for (const name of listed) await images.delete(name);
    await images.prune();
    const absent = await images.get(image).catch((error) => error.code);
    const same = digest === tagged?.digest;
    const seen = { pulled, last: [pulledAgain, last], same, imported: imported?.name, listed, absent };
    expect(seen).toEqual(seenBy(registry.host));
  });

  itWith(['python-client'], 'are handled by the Python client in the same manner', async () => {
    await start(false);
    const archive = join(server.home, 'image.tar');
    writeFileSync(archive, tarOf(ociFiles({ layers: [LAYER] })));
    const program = [join(import.meta.dirname, 'client-images.py'), server.url, ADMIN['x-admin-api-key']];
    const { stdout } = await promisify(execFile)(
      join(packageRoot, '.cache/python-client/bin/python'),
      [...program, registry.host, archive],
      {
        env: {
          ...process.env,
          PYTHONPATH: join(packageRoot, 'clients/python/src'),
          PYTHONDONTWRITEBYTECODE: '1',
        },
      },
    );
    expect(JSON.parse(stdout)).toEqual(seenBy(registry.host));
  });
});
