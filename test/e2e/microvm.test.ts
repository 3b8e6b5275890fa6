// A sandbox of Debian in an emulated virtual machine, by the whole service: files, programs, a terminal, a stream and a
// preview, and a server that is killed and starts again. One sandbox for all: a boot is the dearest part.
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Client } from '../../src/client/client.ts';
import { guestImage } from '../support/hosts/guest-images.ts';
import { machineProcesses } from '../support/hosts/microvm.ts';
import { removeFolder } from '../support/remove.ts';
import { describeWith } from '../support/requires.ts';
import { type Api, api } from '../support/servers/api.ts';
import { visit } from '../support/servers/preview-visit.ts';
import {
  makeHome,
  packageRoot,
  removeHome,
  startServer,
  type TestServer,
} from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const LARGE = randomBytes(64 * 1024 * 1024);
const MINUTES = 60_000;
/** Shared by tests, as unpacking a kernel takes a while. */
const MACHINES = join(packageRoot, '.cache/microvm');
const sha256 = (data: Uint8Array) => createHash('sha256').update(data).digest('hex');

describeWith(['root', 'qemu', 'mke2fs', 'python3-testsuite'], 'a sandbox in a virtual machine', () => {
  const home = makeHome();
  const env: Record<string, string> = {
    SVC_PROVIDERS_DEFAULT: 'microvm',
    SVC_PROVIDERS_MICROVM_ENABLED: 'true',
    SVC_PROVIDERS_MICROVM_ACCELERATOR: 'emulation',
    SVC_PROVIDERS_MICROVM_DATA_DIR: MACHINES,
    SVC_SERVER_PREVIEW_DOMAIN: 'localhost',
    SVC_DEFAULTS_IMAGE: 'debian',
    SVC_DEFAULTS_MAX_EXEC_TIMEOUT: '20m',
  };
  let server: TestServer;
  let client: Client;
  let plain: Api;
  let id: string;

  const start = async () => {
    server = await startServer({ env, home });
    client = new Client({ server: server.url });
    plain = api(server.url);
  };
  beforeAll(async () => {
    env.SVC_PROVIDERS_MICROVM_IMAGES = JSON.stringify({ debian: guestImage('debian') });
    await start();
    ({ id } = await client.spawn({ memory_mb: 384 }));
  }, 4 * MINUTES);
  afterAll(async () => {
    try {
      await client.destroy(id);
      const runs = join('/run/svc', `${server.instance}v`);
      expect(existsSync(runs) ? readdirSync(runs) : []).toEqual([]);
      expect(machineProcesses(id)).toEqual([]);
    } finally {
      await client.close();
      await server.stop();
      removeFolder(join(MACHINES, 'templates', `${server.instance}v`));
      removeHome(home);
    }
  });

  it('reports its image and that it is emulated', async () => {
    expect(await client.get(id)).toMatchObject({ provider: 'microvm', image: 'debian', state: 'running' });
    const detail = await plain.call<{ isolation: Record<string, string> }>('GET', '/providers/microvm');
    expect(detail.body.isolation.process).toContain('emulation');
    const { stdout } = await client.exec(id, { command: 'cat /proc/1/comm /etc/hostname; id -u; pwd' });
    expect(stdout).toBe(`init\n${id}\n0\n/workspace\n`);
  });

  it(
    'takes 64 MiB and gives the same bytes back',
    async () => {
      const put = await plain.raw(`/sandboxes/${id}/files/workspace/large`, {
        method: 'PUT',
        headers: { 'content-type': 'application/octet-stream' },
        body: LARGE,
      });
      expect(put.status).toBe(200);
      const { stdout } = await client.exec(id, { command: 'sha256sum < large', timeout: '5m' });
      expect(stdout).toBe(`${sha256(LARGE)}  -\n`);
      const back = await plain.raw(`/sandboxes/${id}/files?path=/workspace/large`);
      expect(sha256(Buffer.from(await back.arrayBuffer()))).toBe(sha256(LARGE));
    },
    5 * MINUTES,
  );

  it(
    "runs Python's test_json",
    async () => {
      const { exit_code, stdout, stderr } = await client.exec(id, {
        command: 'python3 -m test test_json',
        timeout: '10m',
      });
      expect(stdout + stderr).toMatch(/result: SUCCESS/i);
      expect(exit_code).toBe(0);
    },
    11 * MINUTES,
  );

  it(
    'streams lines while a command runs',
    async () => {
      const lines: string[] = [];
      for await (const line of client.execStream(id, {
        command: 'echo one; sleep 2; echo two',
      }))
        lines.push(`${line.stream} ${line.data}`.trim());
      expect(lines).toEqual(['start', 'stdout one', 'stdout two', 'exit']);
    },
    MINUTES,
  );

  it(
    'has terminals',
    async () => {
      const terminal = await client.openExec(id, { command: 'exec bash --norc -i', tty: true });
      let screen = '';
      const reading = (async () => {
        for await (const event of terminal.events()) {
          if (event.type === 'stdout') screen += event.data.toString();
          if (event.type === 'exit') return event.exit_code;
        }
        return undefined;
      })();
      terminal.resize(33, 99);
      await until('a prompt', () => /[#$] $/.test(screen), MINUTES);
      await terminal.write('stty size; exit 4\r');
      expect(await reading).toBe(4);
      expect(screen).toContain('33 99');
    },
    2 * MINUTES,
  );

  it(
    'serves its ports through previews without a network',
    async () => {
      await client.files.write(id, '/workspace/site/index.html', Buffer.from('from inside'));
      await client.execs.detach(id, { command: 'exec python3 -m http.server --directory site 8000' });
      const port = Number(new URL(server.url).port);
      const look = () => visit(port, `8000-${id}.localhost`);
      await until('the page', async () => (await look()).text === 'from inside', 2 * MINUTES);
      const { stdout } = await client.exec(id, { command: 'ls /sys/class/net' });
      expect(stdout).toBe('lo\n');
    },
    3 * MINUTES,
  );

  it('shows the messages of the kernel in its log', async () => {
    const lines = await client.logs(id, 1000);
    expect(lines.filter((line) => / kernel Linux version /.test(line))).toHaveLength(1);
  });

  it(
    'outlives a server that is killed',
    async () => {
      await client.exec(id, { command: 'echo kept > kept' });
      await client.close();
      await server.kill();
      await start();
      expect(await client.exec(id, { command: 'cat kept' })).toMatchObject({
        stdout: 'kept\n',
        exit_code: 0,
      });
    },
    2 * MINUTES,
  );
});
