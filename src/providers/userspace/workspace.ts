// /workspace on disk, if the configuration wants it: a folder for each sandbox below workspace_base.
import { chown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import { makeFolders } from '../../host/make-folders.ts';
import { runtimeName, UnusableFolder } from '../local/instance-folders.ts';
import { UID_BASE } from '../local/uid-slots.ts';
import type { RuntimeSpec } from '../provider.ts';
import { hasFolder } from './record.ts';
import type { UserspaceState } from './state.ts';

const REMOVE_MS = 50_000;

/** The folder, closed to all but the sandbox's uid (a pool's users walk through it to their own); undefined when workspaces are memory. */
export async function makeWorkspace(
  state: UserspaceState,
  spec: RuntimeSpec,
  slot: number | undefined,
): Promise<string | undefined> {
  if (state.config.workspace !== 'disk') return undefined;
  const path = await workspaceFolder(state, spec, spec.role === 'pool' ? 0o711 : 0o700);
  if (slot !== undefined) await state.slowly(() => chown(path, UID_BASE + slot, UID_BASE + slot));
  return path;
}

/** A new folder of the server's for this runtime, removed by removeWorkspace. Throws `provider_error`. */
export async function workspaceFolder(
  state: UserspaceState,
  spec: RuntimeSpec,
  mode: number,
): Promise<string> {
  const path = workspacePath(state, runtimeName(spec));
  try {
    await state.slowly(async () => {
      await makeFolders(state.config.workspace_base, 0o711);
      await mkdir(path, { mode });
    });
    return path;
  } catch (cause) {
    throw new UnusableFolder(
      'Could not create the workspace.',
      'Check that providers.userspace.workspace_base can be written.',
      cause,
    );
  }
}

function workspacePath(state: UserspaceState, name: string): string {
  return join(state.config.workspace_base, name);
}

/**
 * Resolves when the folder is removed, or never existed. Uses `rm`, which walks by descriptors: a guest's tree may be deeper
 * than a path can name.
 */
export async function removeWorkspace(
  state: UserspaceState,
  name: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const path = workspacePath(state, name);
  if (!(await state.slowly(() => hasFolder(path)))) return;
  const options = { timeoutMs: REMOVE_MS, env: { PATH: '/usr/bin:/bin' }, ...(signal ? { signal } : {}) };
  const remove = () => state.host.run('rm', ['-rf', '--one-file-system', '--', path], options);
  if ((await remove()).code === 0) return;
  // Without root a folder that its owner closed must be opened first.
  await state.host.run('chmod', ['-R', 'u+rwx', '--', path], options);
  if ((await remove()).code !== 0) throw new ServiceError('provider_error', 'Could not remove a workspace.');
}
