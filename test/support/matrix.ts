// The four ways a userspace sandbox is made here: two runners, each under a server of root and of an ordinary user.
import { describeWith, type Need } from './requires.ts';

export interface Runtime {
  runner: 'bwrap' | 'unshare';
  ordinaryUser: boolean;
  env: Record<string, string>;
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
