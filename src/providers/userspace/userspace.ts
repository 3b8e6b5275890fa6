// The userspace provider: sandboxes from namespaces, by bubblewrap or unshare (or from a tracer, by proot), with svc-agent as
// their first process.
import { wrapNotStarted } from '../../domain/not-started.ts';
import type { UserspaceConfig } from '../../schema/config.ts';
import type { Capability, Isolation } from '../../schema/provider.ts';
import { openAgentSocket, sandboxSession } from '../local/agent-socket.ts';
import { MAX_PROCESSES } from '../local/cgroup-plan.ts';
import { isTrial, runtimeName, socketPath } from '../local/instance-folders.ts';
import { localReadings } from '../local/readings.ts';
import { inspectLocal, listLocal } from '../local/runtimes.ts';
import type { Provider } from '../provider.ts';
import { createRuntime } from './create.ts';
import { clear, isRunning } from './destroy.ts';
import { imageNames, imageState, presentImages, readyImage } from './image.ts';
import { probeUserspace } from './probe.ts';
import { type RuntimeRecord, readRecord } from './record.ts';
import { runnerChoice } from './runner.ts';
import { openState, type UserspaceDeps, type UserspaceState } from './state.ts';

/** Touches the host only when used. Runtimes carry the instance's name and outlive this object and this process. */
export function userspaceProvider(deps: UserspaceDeps): Provider {
  const state = openState(deps);
  const runners = runnerChoice(state);
  const { folders } = state;
  const usage = cgroupReadings(state);
  const runtimes = {
    folders,
    readRecord,
    isHidden: isTrial,
    isRunning: (record: RuntimeRecord) => isRunning(state, record),
  };
  return {
    kind: 'userspace',
    capabilities: capabilitiesOf(state),
    hasNetwork: deps.config.network !== 'none' || deps.config.runner === 'proot',
    hasEgress: deps.config.runner !== 'proot',
    ...(deps.config.runner !== 'proot' && { gateRefusal: () => runners.gateRefusal() }),
    // Users of a pool are its tenants.
    hostsPools: deps.host.uid === 0 && deps.config.runner !== 'proot' && deps.config.user === 'sandbox',
    describe: () => ({ isolation: isolationOf(state), images: imageNames(deps.config) }),
    presentImages: () => presentImages(state),
    readyImage: (spec, signal) => readyImage(state, spec, signal),
    imageState: (spec) => imageState(state, spec),
    probe: (signal) => probeUserspace(state, runners, signal),
    create: async (spec, signal) => {
      const runner = await wrapNotStarted(runners.chooseFor(spec), signal);
      return createRuntime(state, { runner, spec }, signal);
    },
    inspect: (ref) => inspectLocal(runtimes, ref),
    destroy: async (ref, signal) => {
      // What a host lacks to start a sandbox must not keep one from ending.
      await state.prepare().catch(() => undefined);
      await clear(state, runtimeName(ref), signal);
      usage.forget(ref);
    },
    // A socket nobody holds refuses, so the record needs no look: process 1 is the only one that has it.
    attach: async (ref, signal) =>
      sandboxSession(
        state,
        ref,
        { stream: await openAgentSocket(socketPath(folders, runtimeName(ref)), signal), isNew: true },
        signal,
      ),
    list: async () => {
      await runners
        .sweep()
        .catch((error: unknown) =>
          state.logger.warn({ err: error }, 'Could not remove a trial sandbox; retrying on the next list.'),
        );
      return listLocal(runtimes);
    },
    usage: usage.read,
    close: async () => {
      usage.close();
      await runners.close();
      state.launcher.close();
      await state.leave();
    },
  };
}

const cgroupReadings = (state: UserspaceState) =>
  localReadings(state, {
    folders: state.folders,
    cgroups: async () => (await state.prepare()).cgroups,
    recorded: async (folder) => (await readRecord(folder))?.cgroups,
  });

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

const NETWORKS: Readonly<Record<UserspaceConfig['network'], string>> = {
  none: 'network_namespace: own loopback only',
  user: 'network_namespace: all public IPv4 addresses by slirp4netns, and name servers; not this machine',
  host: 'none: shares the host network',
};

const INSIDE: Readonly<Record<UserspaceConfig['user'], string>> = {
  sandbox: '',
  image: "; inside images the image's user, which may be uid 0",
  root: '; uid 0 inside images, where calls that change owners and users report success and change nothing',
};

function isolationOf(state: UserspaceState): Isolation {
  const { config, host } = state;
  if (config.runner === 'proot') return NOTHING;
  const bounds = state.prepared()?.cgroups.folders;
  return {
    filesystem: 'mount_namespace: own root, host programs read-only',
    process: `pid_namespace: ${bounds?.has('pids') ? `at most ${MAX_PROCESSES} by cgroup` : `at most ${MAX_PROCESSES} per user`}, no capabilities, system call denylist`,
    network: NETWORKS[config.network],
    memory: bounds?.has('memory')
      ? 'cgroup: hard limit for all processes'
      : 'per_process: each process is limited, the sum is not',
    cpu: bounds?.has('cpu') ? 'cgroup: quota of vcpus' : 'none',
    disk:
      config.workspace === 'memory'
        ? 'bounded: memory of fixed size'
        : 'per_file: each file is bounded, the sum is not',
    user:
      (host.uid === 0
        ? 'own_uid: a host uid of its own, never 0'
        : "server_uid: the server's own host user") + INSIDE[config.user],
  };
}

/** A shared network has no loopback of its own to connect to. */
function capabilitiesOf({ config }: UserspaceState): readonly Capability[] {
  const always: Capability[] = ['exec', 'stream', 'pty', 'detach', 'files', 'console'];
  if (config.runner === 'proot') return always;
  return config.network === 'host' ? [...always, 'network_none'] : [...always, 'network_none', 'connect'];
}
