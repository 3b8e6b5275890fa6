// The example backend of fixtures/ on a free port, and custom providers over it.
import { existsSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pathToFileURL } from 'node:url';
import { realClock } from '../../../src/host/clock.ts';
import { packageRoot } from '../../../src/host/package-root.ts';
import { customProvider } from '../../../src/providers/custom/custom.ts';
import type { Provider } from '../../../src/providers/provider.ts';
import type { CustomConfig } from '../../../src/schema/config-backends.ts';
import { silentLogger } from '../fakes/ports.ts';

export const BACKEND_KEY = 'the-key-of-the-example-backend';

export interface ExampleSandbox {
  id: string;
  folder: string;
  state: 'running' | 'stopped';
  metadata: Record<string, string>;
  kills: Set<() => void>;
}

interface ExampleOptions {
  key?: string;
  words?: (sandbox: ExampleSandbox, workdir: string) => string[];
}

interface Example {
  server: Server;
  sandboxes: Map<string, ExampleSandbox>;
}

export interface CustomBackend extends Example {
  url: string;
  instance: { id: string };
  provider(instance?: { id: string }, config?: Partial<CustomConfig>): Provider;
  close(): Promise<void>;
}

/** `isJailed`: commands run under bwrap with the sandbox's folder as /workspace. */
export async function customBackend({ isJailed = false } = {}): Promise<CustomBackend> {
  const { exampleBackend } = (await import(
    pathToFileURL(`${packageRoot()}/fixtures/custom-backend/backend.js`).href
  )) as { exampleBackend(options: ExampleOptions): Example };
  const example = exampleBackend({ key: BACKEND_KEY, ...(isJailed && { words: jail }) });
  const { server, sandboxes } = example;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const instance = { id: '00000000-0000-4000-8000-00000000c001' };
  return {
    ...{ server, sandboxes, url, instance },
    provider: (as = instance, config = {}) =>
      customProvider({
        ...{ clock: realClock(), logger: silentLogger, instance: as },
        config: { ...customConfig(url), ...config },
      }),
    close: async () => {
      for (const { kills } of sandboxes.values()) for (const kill of kills) kill();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function customConfig(base_url: string): CustomConfig {
  return { enabled: true, name: 'custom', base_url, api_key: BACKEND_KEY, timeout: '20s', max_sandboxes: 0 };
}

export function jail({ folder }: Pick<ExampleSandbox, 'folder'>, workdir: string): string[] {
  const links = ['bin', 'lib', 'lib64'].filter((name) => existsSync(`/usr/${name}`));
  return [
    ...['bwrap', '--ro-bind', '/usr', '/usr', '--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp'],
    ...links.flatMap((name) => ['--symlink', `usr/${name}`, `/${name}`]),
    ...['--bind', folder, '/workspace', '--chdir', workdir, '--unshare-pid', '--die-with-parent', '--'],
  ];
}
