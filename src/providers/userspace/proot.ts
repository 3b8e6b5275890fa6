// The sandbox as proot's arguments. proot traces processes and rewrites the paths in their system calls: a view, not a
// boundary. It knows the system calls up to Linux 4.11; the agent hides younger ones (agent/src/init/lockdown-traced.c).
import type { Setting } from '../local/settings.ts';
import type { Blueprint } from './plan.ts';
import { TRACED_DEVICES } from './traced-root.ts';

const AGENT = '/.svc/svc-agent';

/** All arguments, in order: a later binding covers an earlier one. `workspace` is the entire root; see traced-root.ts. */
export function prootArguments({ name, view, covers, agent, workspace = '' }: Blueprint): string[] {
  return [
    ['-r', workspace],
    [...view.binds, ...covers].flatMap(({ source, target }) => ['-b', `${source}:${target}`]),
    ['/proc', ...TRACED_DEVICES].flatMap((path) => ['-b', path]),
    ['-b', `${agent}:${AGENT}`, '-w', '/workspace', AGENT, 'init', name],
  ].flat();
}

/** Its filter acceleration loses children on kernels since 4.8: they would run on the host's own root. */
export function prootSettings({ workspace = '' }: Blueprint, mark: string): Setting[] {
  return [
    ['traced', '1'],
    ['runner_env', 'PROOT_NO_SECCOMP=1'],
    ['runner_env', `PROOT_TMP_DIR=${workspace}/tmp`],
    ['runner_env', mark],
    ['env', mark],
  ];
}
