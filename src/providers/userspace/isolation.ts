// The isolation of a sandbox on this host, for `svc provider get userspace`. Lists only what is in force.
import type { Capability, Isolation } from '../../schema/provider.ts';
import { MAX_PROCESSES } from '../local/cgroup-plan.ts';
import type { UserspaceState } from './state.ts';

/** A tracer that rewrites paths does not isolate: its limits hold only for well-behaved guests. */
const NOTHING: Isolation = {
  filesystem: 'none',
  process: 'none',
  network: 'none',
  memory: 'none',
  cpu: 'none',
  disk: 'none',
  user: 'none',
};

export function isolationOf(state: UserspaceState): Isolation {
  const { config, host } = state;
  if (config.runner === 'proot') return NOTHING;
  const bounds = state.prepared()?.cgroups.folders;
  return {
    filesystem: 'mount_namespace: own root, host programs read-only',
    process: `pid_namespace: ${bounds?.has('pids') ? `at most ${MAX_PROCESSES} by cgroup` : `at most ${MAX_PROCESSES} per user`}, no capabilities, system call denylist`,
    network:
      config.network === 'none' ? 'network_namespace: own loopback only' : 'none: shares the host network',
    memory: bounds?.has('memory')
      ? 'cgroup: hard limit for all processes'
      : 'per_process: each process is limited, the sum is not',
    cpu: bounds?.has('cpu') ? 'cgroup: quota of vcpus' : 'none',
    disk:
      config.workspace === 'memory'
        ? 'bounded: memory of fixed size'
        : 'per_file: each file is bounded, the sum is not',
    user:
      host.uid === 0 ? 'own_uid: a host uid of its own, never 0' : "server_uid: the server's own host user",
  };
}

/** A shared network has no loopback of its own to connect to. */
export function capabilitiesOf({ config }: UserspaceState): readonly Capability[] {
  const always: Capability[] = ['exec', 'stream', 'pty', 'detach', 'files', 'console'];
  if (config.runner === 'proot') return always;
  return config.network === 'none' ? [...always, 'network_none', 'connect'] : [...always, 'network_none'];
}
