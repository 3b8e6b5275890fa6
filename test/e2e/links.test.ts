// A sandbox that swaps links under the file calls: the work happens inside, so the host and a sibling stay untouched.
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { everywhere } from '../support/hosts/matrix.ts';
import { removeFolder } from '../support/remove.ts';
import { type Api, api } from '../support/servers/api.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';

const OPERATIONS = 300;

everywhere(['python3'], 'hostile links', ({ env, ordinaryUser }) => {
  let server: TestServer;
  let client: Api;
  /** A folder of the host. Its name may show as the target of a link that the guest made; what is in it must not. */
  let outside: string;

  beforeAll(async () => {
    server = await startServer({ env, ordinaryUser });
    client = api(server.url);
    outside = mkdtempSync(join(tmpdir(), 'svc-outside-'));
    writeFileSync(join(outside, 'secret'), 'canary');
    writeFileSync(join(outside, 'canary'), '');
  });
  afterAll(async () => {
    await server.stop();
    removeHome(server.home);
    removeFolder(outside);
  });

  it('never reach the host or a sibling', async () => {
    const [one, two] = await Promise.all([client.spawn(), client.spawn()]);
    await client.sh(two.id, 'echo sibling > /workspace/secret');
    const swapper = `import os, time
os.makedirs('/workspace/real', exist_ok=True)
end = time.time() + 60
while time.time() < end and not os.path.exists('/workspace/stop'):
    for target in ('real', '${outside}', '/proc/1/root', '/', '/proc/self/cwd'):
        try:
            os.symlink(target, '/workspace/next')
            os.rename('/workspace/next', '/workspace/door')
        except OSError:
            pass
`;
    await client.call('POST', `/sandboxes/${one.id}/files`, { path: '/workspace/swap.py', content: swapper });
    const swapping = client.sh(one.id, 'python3 swap.py', { timeout: '90s' });
    const bodies = await storm(one.id);
    await client.call('POST', `/sandboxes/${one.id}/files`, { path: '/workspace/stop', content: '' });
    await swapping;
    expect(bodies.filter((body) => body.includes('canary') || body.includes('sibling'))).toEqual([]);
    expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('canary');
    expect(readdirSync(outside).sort()).toEqual(['canary', 'secret']);
    expect((await client.sh(two.id, 'cat secret; echo *')).stdout).toBe('sibling\nsecret\n');
    await Promise.all([client.destroy(one.id), client.destroy(two.id)]);
  });

  /** Every file operation through the moving door, many times; all answers as text, none of them a fault of ours. */
  async function storm(id: string): Promise<string[]> {
    const bodies: string[] = [];
    const door = `/sandboxes/${id}/files`;
    const calls = [
      () => client.raw(`${door}?path=/workspace/door/secret`),
      () => client.raw(`${door}/workspace/door/written`, jsonPut({ content: 'ours' })),
      () => client.raw(`${door}/list?path=/workspace/door`),
      () => client.raw(`${door}/stat?path=/workspace/door/secret`),
      () => client.raw(`${door}/glob?pattern=${encodeURIComponent('/workspace/door/*')}`),
      () => client.raw(`${door}?path=/workspace/door/written`, { method: 'DELETE' }),
    ];
    for (let n = 0; n < OPERATIONS; n += 1) {
      const response = await calls[n % calls.length]!();
      bodies.push(await response.text());
      if (response.status >= 500) throw new Error(`${response.status}: ${bodies.at(-1)}`);
    }
    return bodies;
  }
});

function jsonPut(body: object): RequestInit {
  return { method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}
