// The container provider: sandboxes in containers of a Docker-compatible engine, with svc-agent as their first process,
// reached through their standard streams.

import type { Capability, Isolation } from '../../schema/provider.ts';
import type { Provider } from '../provider.ts';
import { attachRuntime } from './attach.ts';
import { createRuntime } from './create.ts';
import { endInside, removeContainer } from './destroy.ts';
import { imagePolicy } from './image-policy.ts';
import { inspectRuntime, listRuntimes, nameOf } from './listing.ts';
import { presentImages, probeContainer } from './probe.ts';
import { containerReadings } from './readings.ts';
import { callWords, isGvisor, kernelWords, memoryWords, processWords } from './runtime-kernel.ts';
import { type ContainerDeps, type ContainerState, openState } from './state.ts';
import { watchRuntimes } from './watch.ts';

/** Contacts the engine only when used. Containers carry the instance's label and outlive this object and this process. */
export function containerProvider(deps: ContainerDeps): Provider {
  const state = openState(deps);
  const usage = containerReadings(state);
  return {
    kind: 'container',
    capabilities: capabilitiesOf(state),
    hasNetwork: state.config.network_mode !== 'none',
    hasEgress: true,
    hostsPools: !isGvisor(deps.config.runtime),
    describe: () => ({ isolation: isolationOf(state), images: deps.config.allowed_images }),
    refuseImage: imagePolicy(deps.config.allowed_images),
    presentImages: (signal) => presentImages(state, signal),
    // A start that always pulls may find another image.
    imageId: async ({ image = state.defaultImage }, signal) =>
      image && state.config.pull !== 'always' ? state.images.idOf(image, signal) : undefined,
    probe: (signal) => probeContainer(state, signal),
    create: (spec, signal) => createRuntime(state, spec, signal),
    inspect: (ref, signal) => inspectRuntime(state, ref, signal),
    destroy: async (ref, signal) => {
      await removeContainer(state, await nameOf(state, ref, signal), signal);
      usage.forget(ref);
    },
    usage: usage.read,
    attach: async (ref, signal) => {
      const io = await attachRuntime(state, ref, signal);
      return { ...io, endInside: async () => endInside(state, await nameOf(state, ref, signal), io) };
    },
    list: (signal) => listRuntimes(state, signal),
    watch: (onEvent, signal) => watchRuntimes(state, onEvent, signal),
    close: async () => {
      usage.close();
      state.parked.endAll();
      state.engine.close();
      await state.links.close();
    },
  };
}

function isolationOf({ config, facts, links }: ContainerState): Isolation {
  const known = facts.known();
  const limits = known?.limits;
  const runtime = config.runtime || known?.default_runtime || '';
  const pids = limits?.pids === false ? 'processes not limited' : processWords(runtime, config.pids_limit);
  return {
    kernel: kernelWords(runtime),
    filesystem: `${config.read_only_rootfs ? 'image: read-only' : 'image: own writable layer'}${links.mounts ? LINK_WORDS : ''}`,
    process: `container: ${pids}, ${config.no_new_privileges ? 'no new privileges' : 'set-user-id programs'}, capabilities ${config.added_caps.join(', ') || 'none'}, ${callWords(runtime, limits?.system_calls === false ? 'unconfined' : config.seccomp_profile)}`,
    network: networkWords(config.network_mode),
    memory: limits?.memory === false ? 'none' : memoryWords(runtime),
    cpu: limits?.cpu === false ? 'none' : 'cgroup: quota of vcpus',
    disk: config.read_only_rootfs
      ? 'bounded: memory of fixed size'
      : "none: the engine's storage, shared by all sandboxes",
    user: config.user
      ? `${config.user}: as configured`
      : "image: the image's own user, often root of the container",
  };
}

/** The server listens in that folder only while the agent connects. */
const LINK_WORDS = '; an empty folder of the server, read-only';

function networkWords(mode: string): string {
  if (mode === 'none') return 'network_namespace: own loopback only';
  if (mode === 'host') return "none: shares the network of the engine's host";
  if (mode === 'svc') return 'network_namespace: a bridge on which sandboxes cannot reach each other';
  return `network_namespace: the network ${mode}`;
}

/** Sandboxes on the host's network have no loopback of their own to connect to. */
function capabilitiesOf({ config }: ContainerState): readonly Capability[] {
  const always: Capability[] = ['exec', 'stream', 'pty', 'detach', 'files', 'console', 'network_none'];
  return config.network_mode === 'host' ? always : [...always, 'connect'];
}
