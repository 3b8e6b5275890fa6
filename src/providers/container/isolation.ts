// The effective isolation of a sandbox, for `svc provider get container`. Reports only measures in force; facts of the
// engine are included once they are known.
import type { Capability, Isolation } from '../../schema/provider.ts';
import { callWords, kernelWords, memoryWords, processWords } from './runtime-kernel.ts';
import type { ContainerState } from './state.ts';

export function isolationOf({ config, facts }: ContainerState): Isolation {
  const known = facts.known();
  const limits = known?.limits;
  const runtime = config.runtime || known?.default_runtime || '';
  const pids = limits?.pids === false ? 'processes not limited' : processWords(runtime, config.pids_limit);
  return {
    kernel: kernelWords(runtime),
    filesystem: config.read_only_rootfs ? 'image: read-only' : 'image: own writable layer',
    process: `container: ${pids}, no new privileges, capabilities ${config.added_caps.join(', ') || 'none'}, ${callWords(runtime, limits?.system_calls === false ? 'unconfined' : config.seccomp_profile)}`,
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

function networkWords(mode: string): string {
  if (mode === 'none') return 'network_namespace: own loopback only';
  if (mode === 'host') return "none: shares the network of the engine's host";
  if (mode === 'svc') return 'network_namespace: a bridge on which sandboxes cannot reach each other';
  return `network_namespace: the network ${mode}`;
}

/** Sandboxes on the host's network have no loopback of their own to connect to. */
export function capabilitiesOf({ config }: ContainerState): readonly Capability[] {
  const always: Capability[] = ['exec', 'stream', 'pty', 'detach', 'files', 'console', 'network_none'];
  return config.network_mode === 'host' ? always : [...always, 'connect'];
}
