// The ways in which a sandbox is made here: two userspace runners, each under a server of root and of an ordinary user,
// and containers of Debian under two runtimes of a real engine.
import { beforeAll } from 'vitest';
import { IMAGES } from './engine.ts';
import { describeWith, type Need } from './requires.ts';
import { sharedEngine } from './shared-engine.ts';

export interface Runtime {
  runner: 'bwrap' | 'unshare' | 'runc' | 'runsc';
  ordinaryUser: boolean;
  env: Record<string, string>;
}

/** Whether the sandbox is a container: its root may be written to, and its disk is the engine's. */
export function inContainer(runner: Runtime['runner']): boolean {
  return runner === 'runc' || runner === 'runsc';
}

/** Declares `body` once for each runner and user. */
export function eachRuntime(needs: readonly Need[], name: string, body: (runtime: Runtime) => void): void {
  for (const runner of ['unshare', 'bwrap'] as const) {
    for (const ordinaryUser of [false, true]) {
      const who = ordinaryUser ? 'an ordinary user' : 'root';
      const all: Need[] = [...(ordinaryUser ? [] : (['root'] as const)), runner, ...needs];
      describeWith(all, `${name} [${runner}, ${who}]`, () =>
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

/** Once for each container runtime. `env` is complete when the body's own hooks run. */
export function inContainers(
  runners: readonly ('runc' | 'runsc')[],
  { needs, name }: { needs: readonly Need[]; name: string },
  body: (runtime: Runtime) => void,
): void {
  for (const runner of runners) {
    const all: Need[] = ['root', 'docker', ...(runner === 'runsc' ? (['runsc'] as const) : []), ...needs];
    describeWith(all, `${name} [${runner}]`, () => {
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
