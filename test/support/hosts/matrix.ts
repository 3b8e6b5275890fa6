// The ways in which a sandbox is made here: two userspace runners, each under a server of root and of an ordinary user,
// containers of Debian under two runtimes of a real engine, and a virtual machine of Debian.
import { join } from 'node:path';
import { beforeAll, describe } from 'vitest';
import { describeWith, type Need } from '../requires.ts';
import { chosenDatabase } from '../servers/chosen-database.ts';
import { packageRoot } from '../servers/server.ts';
import { IMAGES } from './engine.ts';
import { guestImage } from './guest-images.ts';
import { sharedEngine } from './shared-engine.ts';

export interface Runtime {
  runner: 'bwrap' | 'unshare' | 'runc' | 'runsc' | 'qemu';
  ordinaryUser: boolean;
  env: Record<string, string>;
  /** On a worker beside the server instead of on the server. */
  onWorker?: boolean;
}

/** Whether the whole root of the sandbox may be written to. */
export function ownsRoot(runner: Runtime['runner']): boolean {
  return inContainer(runner) || runner === 'qemu';
}

/** Whether the sandbox is a container: its disk is the engine's. */
export function inContainer(runner: Runtime['runner']): boolean {
  return runner === 'runc' || runner === 'runsc';
}

/**
 * `describeWith`, but over several servers only `isOne` of a matrix runs, unless SVC_TEST_MATRIX is `all`: what differs there is
 * the servers, not what sandboxes run in.
 */
function declareAt(isOne: boolean, needs: readonly Need[], name: string, body: () => void): void {
  if (isOne || chosenDatabase() !== 'fleet' || process.env.SVC_TEST_MATRIX === 'all')
    describeWith(needs, name, body);
  else describe.skip(`${name} (not over several servers)`, body);
}

/** Declares `body` once for each runner and user. */
export function eachRuntime(needs: readonly Need[], name: string, body: (runtime: Runtime) => void): void {
  for (const runner of ['unshare', 'bwrap'] as const) {
    for (const ordinaryUser of [false, true]) {
      const who = ordinaryUser ? 'an ordinary user' : 'root';
      const all: Need[] = [...(ordinaryUser ? [] : (['root'] as const)), runner, ...needs];
      const isOne = runner === 'bwrap' && !ordinaryUser;
      declareAt(isOne, all, `${name} [${runner}, ${who}]`, () =>
        body({ runner, ordinaryUser, env: { SVC_PROVIDERS_USERSPACE_RUNNER: runner } }),
      );
    }
  }
}

/**
 * `eachRuntime`, then in containers of `runc` and of gVisor. Under gVisor `ls` and `stat` of coreutils fail (statx with
 * AT_NO_AUTOMOUNT), so tests look with the shell or `find`.
 */
export function everywhere(needs: readonly Need[], name: string, body: (runtime: Runtime) => void): void {
  eachRuntime(needs, name, body);
  inContainers(['runc', 'runsc'], { needs, name }, body);
}

/** In sandboxes of each kind on a worker: what reaches their inside goes through its relay. */
export function onWorkers(needs: readonly Need[], name: string, body: (runtime: Runtime) => void): void {
  const there = (runtime: Runtime) => body({ ...runtime, onWorker: true });
  const title = `${name} on a worker`;
  declareAt(false, ['root', 'bwrap', ...needs], `${title} [bwrap]`, () =>
    there({ runner: 'bwrap', ordinaryUser: false, env: { SVC_PROVIDERS_USERSPACE_RUNNER: 'bwrap' } }),
  );
  inContainers(['runc'], { needs, name: title }, there);
}

/** Once for each container runtime. `env` is complete when the body's own hooks run. */
export function inContainers(
  runners: readonly ('runc' | 'runsc')[],
  { needs, name }: { needs: readonly Need[]; name: string },
  body: (runtime: Runtime) => void,
): void {
  for (const runner of runners) {
    const all: Need[] = ['root', 'docker', ...(runner === 'runsc' ? (['runsc'] as const) : []), ...needs];
    declareAt(false, all, `${name} [${runner}]`, () => {
      const env: Record<string, string> = {
        SVC_PROVIDERS_DEFAULT: 'container',
        SVC_PROVIDERS_CONTAINER_ENABLED: 'true',
        SVC_PROVIDERS_CONTAINER_RUNTIME: runner,
        SVC_DEFAULTS_IMAGE: IMAGES.debian,
      };
      beforeAll(async () => {
        env.SVC_PROVIDERS_CONTAINER_SOCKET = (await sharedEngine()).socket;
      }, 120_000);
      body({ runner, ordinaryUser: false, env });
    });
  }
}

/** `inMachine`, on a worker. */
export function inMachineOnWorker(
  needs: readonly Need[],
  name: string,
  body: (runtime: Runtime) => void,
): void {
  inMachine(needs, `${name} on a worker`, (runtime) => body({ ...runtime, onWorker: true }));
}

/** In an emulated virtual machine of Debian. A guest is slow there, so only what each kind of sandbox has to do is run. */
export function inMachine(needs: readonly Need[], name: string, body: (runtime: Runtime) => void): void {
  declareAt(false, ['root', 'qemu', 'mke2fs', ...needs], `${name} [qemu]`, () => {
    const env: Record<string, string> = {
      SVC_PROVIDERS_DEFAULT: 'microvm',
      SVC_PROVIDERS_MICROVM_ENABLED: 'true',
      SVC_PROVIDERS_MICROVM_ACCELERATOR: 'emulation',
      SVC_PROVIDERS_MICROVM_OVERLAY_MB: '192',
      // Shared by tests, as unpacking a kernel takes a while.
      SVC_PROVIDERS_MICROVM_DATA_DIR: join(packageRoot, '.cache/microvm'),
      // One guest a server: a template would be made for nobody, and stay in that folder.
      SVC_PROVIDERS_MICROVM_SNAPSHOTS: 'false',
      SVC_DEFAULTS_IMAGE: 'debian',
    };
    beforeAll(() => {
      env.SVC_PROVIDERS_MICROVM_IMAGES = JSON.stringify({ debian: guestImage('debian') });
    }, 120_000);
    body({ runner: 'qemu', ordinaryUser: false, env });
  });
}
