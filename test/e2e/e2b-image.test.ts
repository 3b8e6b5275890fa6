// Programs for E2B in containers of the image that deploy/e2b-image.sh makes. Only with its path in SVC_TEST_E2B_IMAGE, as making it
// takes minutes and needs Debian's mirrors.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Sandbox } from 'e2b';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sharedEngine } from '../support/hosts/shared-engine.ts';
import { describeWith } from '../support/requires.ts';
import { packageRoot, removeHome, startServer, type TestServer } from '../support/servers/server.ts';

const run = promisify(execFile);
const file = process.env.SVC_TEST_E2B_IMAGE ?? '';
const NAME = 'svc-e2b';
/** A kernel starts, and large packages are loaded, on a machine that is busy. */
const LATER = { timeout: 300_000 };

if (existsSync(file))
  describeWith(['root', 'docker', 'e2b-python'], 'the image for programs for E2B', () => {
    let server: TestServer;
    let settings: Record<string, string>;

    beforeAll(async () => {
      const { socket } = await sharedEngine();
      const changes = ['-c', 'WORKDIR /home/user'];
      await run('docker', ['-H', `unix://${socket}`, 'import', ...changes, file, NAME]);
      settings = {
        SVC_PROVIDERS_DEFAULT: 'container',
        SVC_PROVIDERS_CONTAINER_ENABLED: 'true',
        SVC_PROVIDERS_CONTAINER_SOCKET: socket,
        SVC_DEFAULTS_IMAGE: NAME,
      };
      server = await startServer({ env: settings });
    }, 900_000);
    afterAll(async () => {
      await server.stop();
      removeHome(server.home);
    });

    const lines = async (name: string) => {
      const python = join(packageRoot, '.cache/e2b-python/bin/python');
      const address = { E2B_API_URL: server.url, E2B_SANDBOX_URL: server.url, E2B_API_KEY: 'e2b_0' };
      const env = { PATH: process.env.PATH, NO_PROXY: '127.0.0.1,localhost', ...address };
      const { stdout } = await run(python, [join(packageRoot, 'test/e2e', name)], { env });
      return stdout.trim().split('\n');
    };

    it('runs commands, terminals, files and git of both SDKs for Python', LATER, async () => {
      for (const name of ['e2b-sync.py', 'e2b-async.py'])
        expect((await lines(name)).at(-1)).toBe('held ends');
    });

    it('has a sudo, which says where there are no new privileges', LATER, async () => {
      const options = { apiKey: 'e2b_0', apiUrl: server.url, sandboxUrl: server.url };
      const sandbox = await Sandbox.create(options);
      const run = async (command: string, more = {}) => (await sandbox.commands.run(command, more)).stdout;
      expect(await run('sudo -u user id -un; sudo id -un 2>&1 || true')).toMatch(
        /^user\nsudo: this sandbox gives no new privileges/,
      );
      expect(await run('sudo id -un; sudo -u user id -un', { user: 'root' })).toBe('root\nuser\n');
      await sandbox.kill();
    });

    it('has a sudo that works where containers give new privileges', LATER, async () => {
      const env = { ...settings, SVC_PROVIDERS_CONTAINER_NO_NEW_PRIVILEGES: 'false' };
      const other = await startServer({ env });
      const options = { apiKey: 'e2b_0', apiUrl: other.url, sandboxUrl: other.url };
      const sandbox = await Sandbox.create(options);
      const { stdout } = await sandbox.commands.run(
        'sudo id -un; sudo -u user id -un; sudo apt-get --version',
      );
      expect(stdout).toMatch(/^root\nuser\napt /);
      await sandbox.kill();
      await other.stop();
      removeHome(other.home);
    });

    it('has the code interpreter', LATER, async () => {
      expect((await lines('e2b-code.py')).at(-1)).toBe('async interrupts');
    });
  });
else it.skip('the image for programs for E2B (SVC_TEST_E2B_IMAGE is not set)', () => {});
