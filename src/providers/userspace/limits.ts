// The limits of a sandbox, and those that a host without cgroups, or without some of their controllers, does not enforce.
import type { UserspaceConfig } from '../../schema/config.ts';
import type { Controller } from '../local/cgroup-host.ts';
import type { RuntimeSpec } from '../provider.ts';

export const memoryFor = (config: Pick<UserspaceConfig, 'max_memory_mb'>, spec: RuntimeSpec): number =>
  Math.min(spec.memory_mb, config.max_memory_mb);

/** What each spawn warns of, as sentences. Processes are counted for each sandbox also without a cgroup. */
export function missingLimits(bounds: { has(controller: Controller): boolean }): string[] {
  const lacks = (['memory', 'cpu'] as const).filter((controller) => !bounds.has(controller));
  if (lacks.length === 2)
    return [
      'memory_mb limits each process, not their sum, and vcpus is not enforced: the server cannot create cgroups.',
    ];
  if (lacks.length === 0) return [];
  return lacks[0] === 'memory'
    ? ['memory_mb limits each process, not their sum: the server cannot create cgroups of memory.']
    : ['vcpus is not enforced: the server cannot create cgroups of processors.'];
}
