// What health says of the userspace provider when the host lacks what the configuration promises, and what callers may
// read of the host's folders in it: on a running server.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { describeWith } from '../support/requires.ts';
import { makeHome, removeHome, startServer, type TestServer } from '../support/servers/server.ts';

const API_KEY = 'api-0123456789abcdef0123456789abcdef';
const ADMIN_KEY = 'admin-0123456789abcdef0123456789abcdef';
const servers: TestServer[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) {
    await server.stop();
    removeHome(server.home);
  }
});

async function serve(home: string, env: Record<string, string>) {
  const server = await startServer({
    home,
    env: {
      SVC_AUTH_ENABLED: 'true',
      SVC_AUTH_API_KEY: API_KEY,
      SVC_AUTH_ADMIN_API_KEY: ADMIN_KEY,
      SVC_PROVIDERS_DEFAULT: 'userspace',
      ...env,
    },
  });
  servers.push(server);
  const ask = async (path: string, key = API_KEY, body?: object) => {
    const answer = await fetch(`${server.url}/api/v1${path}`, {
      headers: { 'x-api-key': key, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
    return { status: answer.status, text: await answer.text() };
  };
  return ask;
}

describeWith(['root', 'unshare'], 'userspace health', () => {
  it('fails when a language interpreter is missing', async () => {
    const ask = await serve(makeHome(), { SVC_PROVIDERS_USERSPACE_LANGUAGES: 'sh,no-such-language' });
    expect(JSON.parse((await ask('/health')).text)).toMatchObject({
      checks: { providers: { status: 'failed' } },
    });
    expect(await ask('/ready')).toMatchObject({ status: 503 });
    const { text } = await ask('/providers/userspace');
    expect(JSON.parse(text)).toMatchObject({
      healthy: false,
      error: expect.stringContaining('no-such-language'),
    });
  });

  it('finds interpreters behind links that lead through the root of the image', async () => {
    const home = makeHome();
    const root = join(home, 'root');
    for (const name of ['usr/bin', 'etc/alternatives', 'opt'])
      mkdirSync(join(root, name), { recursive: true });
    symlinkSync('/usr/bin', join(root, 'bin'));
    symlinkSync('/etc/alternatives/speak', join(root, 'usr/bin/speak'));
    symlinkSync('../../opt/speak-3', join(root, 'etc/alternatives/speak'));
    symlinkSync('/bin/sh', join(root, 'usr/bin/only-on-the-host'));
    writeFileSync(join(root, 'opt/speak-3'), '', { mode: 0o755 });
    const env = { SVC_PROVIDERS_USERSPACE_ROOTFS_PATH: root, SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare' };
    const ask = await serve(home, { ...env, SVC_PROVIDERS_USERSPACE_LANGUAGES: 'speak,only-on-the-host' });
    const { error } = JSON.parse((await ask('/providers/userspace')).text);
    expect(error).toContain('only-on-the-host is not');
    expect(error).not.toContain('speak');
  });

  it.each([
    ['rootfs_path', { SVC_PROVIDERS_USERSPACE_ROOTFS_PATH: '/srv/hidden-place/root' }],
    [
      'workspace_base',
      {
        SVC_PROVIDERS_USERSPACE_WORKSPACE: 'disk',
        SVC_PROVIDERS_USERSPACE_WORKSPACE_BASE: '/etc/hostname/hidden-place/base',
      },
    ],
  ])('names no host path of %s to ordinary callers, and names it to administrators', async (key, env) => {
    const ask = await serve(makeHome(), env as Record<string, string>);
    const spawned = await ask('/sandboxes', API_KEY, {});
    expect(spawned).toMatchObject({
      status: 500,
      text: expect.stringContaining(`providers.userspace.${key}`),
    });
    const said = [
      spawned,
      await ask('/providers'),
      await ask('/providers/userspace'),
      await ask('/diagnostics'),
    ];
    expect(said.map(({ text }) => text).join()).not.toContain('hidden-place');
    expect((await ask('/admin/providers/userspace', ADMIN_KEY)).text).toContain('hidden-place');
    // Nothing was begun, so nothing is left to be ended.
    expect(JSON.parse((await ask('/sandboxes')).text)).toEqual([]);
  });
});
