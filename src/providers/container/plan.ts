// Plans a container before it is created: image, network and agent are ready, and the requested size is reduced to what the
// engine has.
import { refuseDifferences } from '../../domain/differences.ts';
import { ServiceError } from '../../domain/errors.ts';
import { abortable } from '../../domain/timeout.ts';
import type { RuntimeSpec } from '../provider.ts';
import { containerBody, hasOwnWorkspace } from './container-body.ts';
import { type EngineFacts, rejectPodman } from './facts.ts';
import { containerName } from './names.ts';
import { isGvisor } from './runtime-kernel.ts';
import { seccompProfile } from './seccomp-profile.ts';
import type { ContainerState } from './state.ts';

/** How many paths a warning names. */
const SHOWN = 4;

export interface Plan {
  /** Name of the container. */
  name: string;
  image: string;
  /** The request with the effective sizes. */
  spec: RuntimeSpec;
  /** Id of the image. */
  imageId: string;
  /** The request that creates it, with the folder of a link. */
  body(link: string | undefined): object;
  warnings: string[];
}

/** Throws `provider_error` or `unavailable` for a missing prerequisite, or the signal's reason. */
export async function planContainer(
  state: ContainerState,
  requested: RuntimeSpec,
  signal: AbortSignal,
): Promise<Plan> {
  const image = requested.image ?? noImage();
  const [facts, imageFacts, seccomp] = await Promise.all([
    state.facts.read(signal).then(rejectPodman),
    state.images.ready(image, requested, signal),
    seccompProfile(state.config.seccomp_profile),
  ]);
  const [agentVolume, network] = await abortable(
    Promise.all([state.agent(), state.network.ready(requested.network)]),
    signal,
  );
  const { spec, warnings } = fitted(state, requested, facts);
  const user = state.config.user || imageFacts.user;
  const runtime = state.config.runtime || facts.default_runtime;
  if (spec.role === 'pool' && isGvisor(runtime)) throw noPool(runtime);
  const order = {
    instance: state.instance.id,
    spec,
    config: state.config,
    runtime,
    image: imageFacts.id,
    volumes: imageFacts.volumes,
    user,
    agentVolume,
    network,
    // An engine without seccomp rejects a container with a profile.
    seccomp: state.config.seccomp_profile === 'svc' && !facts.limits.system_calls ? undefined : seccomp,
  };
  if (imageFacts.volumes.length > 0) warnings.push(volumesWarning(imageFacts.volumes));
  refuseDifferences(requested.strict, warnings);
  // A property of the configuration, not a difference from the request: a strict spawn has no other workspace to ask for.
  if (hasOwnWorkspace(order) && !requested.strict) warnings.push(workspaceWarning(state.config.workspace_mb));
  const name = containerName(state.instance, spec);
  const body = (link: string | undefined) => containerBody({ ...order, link });
  return { name, image, imageId: imageFacts.id, spec, body, warnings };
}

function fitted({ config }: ContainerState, requested: RuntimeSpec, facts: EngineFacts) {
  const warnings: string[] = [];
  const memory_mb =
    config.max_memory_mb === 0 ? requested.memory_mb : Math.min(requested.memory_mb, config.max_memory_mb);
  if (memory_mb < requested.memory_mb)
    warnings.push(`memory_mb is ${memory_mb}: providers.container.max_memory_mb sets this limit.`);
  const vcpus = Math.min(requested.vcpus, facts.cpus);
  if (vcpus < requested.vcpus)
    warnings.push(`vcpus is ${vcpus}: the engine's host has this many processors.`);
  return { spec: { ...requested, memory_mb, vcpus }, warnings: [...warnings, ...missingLimits(facts)] };
}

function missingLimits({ limits }: EngineFacts): string[] {
  return [
    ...(limits.memory ? [] : ['Memory is not limited: the kernel of the engine does not support it.']),
    ...(limits.memory && !limits.swap
      ? ['Swap is not limited: the kernel of the engine does not support it.']
      : []),
    ...(limits.pids ? [] : ['Processes are not limited: the kernel of the engine does not support it.']),
    ...(limits.system_calls
      ? []
      : ['System calls are not filtered: the kernel of the engine does not support it.']),
    ...(limits.cpu ? [] : ['vcpus is not enforced: the kernel of the engine does not support it.']),
  ];
}

function workspaceWarning(mb: number): string {
  return `/workspace is ${mb} MB of memory and counts as such: the sandbox's user cannot write to the image's disk.`;
}

function volumesWarning(paths: readonly string[]): string {
  const shown = paths.slice(0, SHOWN).join(', ');
  const more = paths.length > SHOWN ? ` and ${paths.length - SHOWN} more` : '';
  return `The image declares volumes: ${shown}${more}. Each is memory of bounded size, and empty.`;
}

function noPool(runtime: string): ServiceError {
  return new ServiceError(
    'provider_error',
    `The runtime ${runtime} cannot run a pool: gVisor refuses the limits that each user gets.`,
    { remedy: 'Set providers.container.runtime to runc, or pool.enabled to false.' },
  );
}

function noImage(): never {
  throw new ServiceError('bad_request', 'A container needs an image.', {
    remedy: 'Set image in the request, or defaults.image in the configuration.',
  });
}
