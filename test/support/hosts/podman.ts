// A `podman system service` of a test's own, with its storage in a folder that goes with it.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processesNaming } from '../checks/leftovers.ts';
import { removeFolder } from '../remove.ts';
import { until } from '../until.ts';
import { type EngineApi, engineApi } from './engine-api.ts';

export interface Podman {
  socket: string;
  api: EngineApi;
  log(): string;
  /** Ends it with everything it made. */
  stop(): Promise<void>;
}

export async function startPodman(): Promise<Podman> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-pod-'));
  const at = (name: string) => join(folder, name);
  const own = ['--root', at('root'), '--runroot', at('run'), '--tmpdir', at('tmp')];
  const args = [...own, '--storage-driver', 'vfs', '--cgroup-manager', 'cgroupfs'];
  const log = openSync(at('log'), 'a');
  const service = spawn('podman', [...args, 'system', 'service', '-t', '0', `unix://${at('s')}`], {
    stdio: ['ignore', log, log],
    cwd: '/',
  });
  const api = engineApi(at('s'));
  const answers = () =>
    api.call('GET', '/_ping').then(
      () => true,
      () => false,
    );
  await until('podman to answer', answers, 60_000);
  return {
    socket: at('s'),
    api,
    log: () => readFileSync(at('log'), 'utf8'),
    stop: async () => {
      api.close();
      execFileSync('podman', [...args, 'rm', '--force', '--all', '--time', '0'], { stdio: 'ignore' });
      const ended = once(service, 'exit');
      service.kill('SIGKILL');
      await ended;
      await until(
        'what cleans up behind containers to end',
        () => processesNaming(folder).length === 0,
        30_000,
      );
      removeFolder(folder);
    },
  };
}
