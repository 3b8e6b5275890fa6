// The userspace provider: sandboxes from namespaces, by bubblewrap or unshare (or from a tracer, by proot), with svc-agent as
// their first process.
import type { SandboxIo } from '../../agent/io.ts';
import { openSession } from '../../agent/session.ts';
import { agentSecret } from '../../domain/agent-secret.ts';
import { wrapNotStarted } from '../../domain/not-started.ts';
import type { Capability, Isolation } from '../../schema/provider.ts';
import { openAgentSocket } from '../local/agent-socket.ts';
import { MAX_PROCESSES } from '../local/cgroup-plan.ts';
import { runtimeName, socketPath } from '../local/instance-folders.ts';
import type { Provider, RuntimeRef } from '../provider.ts';
import { createRuntime } from './create.ts';
import { clear } from './destroy.ts';
import { imageNames } from './image.ts';
import { inspectRuntime, listRuntimes } from './listing.ts';
import { probeUserspace } from './probe.ts';
import { runnerChoice } from './runner.ts';
import { openState, type UserspaceDeps, type UserspaceState } from './state.ts';

/** Touches the host only when used. Runtimes carry the instance's name and outlive this object and this process. */
export function userspaceProvider(deps: UserspaceDeps): Provider {
  const state = openState(deps);
  const runners = runnerChoice(state);
  return {
    kind: 'userspace',
    capabilities: capabilitiesOf(state),
    hasNetwork: deps.config.network === 'host' || deps.config.runner === 'proot',
    hostsPools: deps.host.uid === 0 && deps.config.runner !== 'proot',
    describe: () => ({ isolation: isolationOf(state), images: imageNames(deps.config) }),
    probe: (signal) => probeUserspace(state, runners, signal),
    create: async (spec, signal) => {
      const runner = await wrapNotStarted(runners.choose(), signal);
      return createRuntime(state, { runner, spec }, signal);
    },
    inspect: (ref) => inspectRuntime(state, ref),
    destroy: async (ref, signal) => {
      // What a host lacks to start a sandbox must not keep one from ending.
      await state.prepare().catch(() => undefined);
      await clear(state, runtimeName(ref), signal);
    },
    attach: (ref, signal) => attachRuntime(state, ref, signal),
    list: async () => {
      await runners
        .sweep()
        .catch((error: unknown) =>
          state.logger.warn({ err: error }, 'Could not remove a trial sandbox; retrying on the next list.'),
        );
      return listRuntimes(state);
    },
    close: async () => {
      await runners.close();
      state.launcher.close();
      await state.leave();
    },
  };
}

/** Throws `unavailable` when the runtime is not running or its agent does not answer. */
async function attachRuntime(
  state: UserspaceState,
  ref: RuntimeRef,
  signal: AbortSignal,
): Promise<SandboxIo> {
  // A socket nobody holds refuses, so the record needs no look: process 1 is the only one that has it.
  const stream = await openAgentSocket(socketPath(state.folders, runtimeName(ref)), signal);
  const { clock, random, logger } = state;
  const secret = agentSecret(state.instance.key, ref.id, ref.epoch);
  return openSession({ stream, secret, clock, random, logger }, signal);
}

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

function isolationOf(state: UserspaceState): Isolation {
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
function capabilitiesOf({ config }: UserspaceState): readonly Capability[] {
  const always: Capability[] = ['exec', 'stream', 'pty', 'detach', 'files', 'console'];
  if (config.runner === 'proot') return always;
  return config.network === 'none' ? [...always, 'network_none', 'connect'] : [...always, 'network_none'];
}
