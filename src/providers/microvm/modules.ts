// Which modules a guest has to load, and in which order: what is wanted, less what the kernel has built in, each after
// what it needs. (modules.dep(5), modules.builtin)
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';

const MODULE = /\.ko(\.(xz|zst|gz))?$/;

/** Guests work without it, but cannot have a transparent gate. */
export const GATE_MODULE = 'veth';

/** Whether the kernel has a part built in or as a module. Throws `provider_error`. */
export async function hasPart(folder: string, name: string): Promise<boolean> {
  const lines = await Promise.all(['modules.builtin', 'modules.dep'].map((list) => linesOf(folder, list)));
  return lines.flat().some((line) => nameOf(line.split(':')[0] ?? '') === name);
}

export interface GuestModule {
  /** As the kernel says it, such as `virtio_blk`. */
  name: string;
  path: string;
}

/** Throws `provider_error` when a wanted one is neither built in nor a module. */
export async function planModules(folder: string, wanted: readonly string[]): Promise<GuestModule[]> {
  const builtIn = new Set((await linesOf(folder, 'modules.builtin')).map(nameOf));
  const modules = parseDependencies(await linesOf(folder, 'modules.dep'));
  const plan = new Map<string, GuestModule>();
  const add = (name: string, chain: readonly string[]) => {
    if (plan.has(name) || builtIn.has(name) || chain.includes(name)) return;
    const found = modules.get(name);
    if (!found && name === GATE_MODULE) return;
    if (!found)
      throw new ServiceError('provider_error', `The kernel for microVMs has no ${name}.`, {
        remedy: 'Use a kernel with virtio, such as the one in the package linux-image-cloud-amd64.',
      });
    for (const need of found.needs) add(need, [...chain, name]);
    plan.set(name, { name, path: join(folder, found.path) });
  };
  for (const name of wanted) add(name, []);
  return [...plan.values()];
}

async function linesOf(folder: string, name: string): Promise<string[]> {
  const text = await readFile(join(folder, name), 'utf8').catch((error: unknown) => {
    throw new ServiceError('provider_error', `The kernel's ${name} cannot be read.`, {
      cause: error,
      remedy: 'Install the kernel package of microVMs again.',
    });
  });
  return text.split('\n').filter((line) => line !== '');
}

interface Dependencies {
  path: string;
  needs: string[];
}

/** Lines are `path: path path`, all that is needed, the nearest first. */
function parseDependencies(lines: readonly string[]): Map<string, Dependencies> {
  return new Map(
    lines.map((line) => {
      const [path = '', rest = ''] = line.split(':');
      const needs = rest.split(' ').filter((each) => each !== '');
      return [nameOf(path), { path, needs: needs.reverse().map(nameOf) }];
    }),
  );
}

/** Files say `-` or `_`, the kernel always `_`. */
function nameOf(path: string): string {
  return basename(path).replace(MODULE, '').replaceAll('-', '_');
}
