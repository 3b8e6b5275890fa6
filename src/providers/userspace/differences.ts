// How a sandbox differs from its request, as far as known before anything is created: warnings, or the refusal of a strict spawn.
import type { UserspaceConfig } from '../../schema/config.ts';
import type { CgroupPlan } from '../local/cgroup-plan.ts';
import { imageEnvironment } from '../local/image-environment.ts';
import { canChooseUser } from './image-user.ts';
import { memoryFor, missingLimits } from './limits.ts';
import type { PlannedOrder } from './order.ts';
import { isWithoutNames, NO_NAMES, type ResolverWish } from './resolver.ts';
import { NO_SERVERS } from './user-network.ts';

interface HostFacts {
  /** The cgroups that this host gives. */
  bounds: { has: CgroupPlan['bounds']['has'] };
  resolver: ResolverWish;
}

export function differences(
  config: Pick<UserspaceConfig, 'max_memory_mb' | 'user'>,
  { spec, runner, image }: PlannedOrder,
  { bounds, resolver }: HostFacts,
): string[] {
  const memory_mb = memoryFor(config, spec);
  const warnings = [...image.warnings, ...imageEnvironment(image).warnings];
  if (runner.name === 'proot')
    warnings.push(
      'proot does not isolate: this sandbox can reach the files, processes and network of the host as its user.',
    );
  if (spec.memory_mb > memory_mb)
    warnings.push(
      `memory_mb is ${memory_mb} instead of ${spec.memory_mb}: providers.userspace.max_memory_mb limits it.`,
    );
  // A property of the host, which no request can avoid: doctor tells it, and a strict spawn is not refused for it.
  if (!spec.strict) warnings.push(...missingLimits(bounds));
  if (image.rootfs && runner.name === 'bwrap')
    warnings.push('The image is read-only: bubblewrap does not support an overlay.');
  if (isWithoutNames(resolver)) warnings.push(NO_NAMES);
  if (resolver.userNetwork?.servers.length === 0) warnings.push(NO_SERVERS);
  const isOtherUser = config.user !== 'sandbox' && image.stored !== undefined;
  if (isOtherUser && !canChooseUser({ image, runner: runner.name }))
    warnings.push(
      `Commands run as user sandbox: providers.userspace.user needs the runner unshare, and this is ${runner.name}.`,
    );
  return warnings;
}
