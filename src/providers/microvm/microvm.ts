// The microvm provider: sandboxes in virtual machines, with svc-agent as /init of each guest.
import type { Capability, Isolation } from '../../schema/provider.ts';
import { sandboxSession } from '../local/agent-socket.ts';
import { runtimeName } from '../local/instance-folders.ts';
import { localReadings } from '../local/readings.ts';
import type { Provider } from '../provider.ts';
import { createRuntime } from './create.ts';
import { clear } from './destroy.ts';
import type { MicrovmDeps } from './folders.ts';
import { runtimePaths } from './folders.ts';
import { imageId, imageState, presentImages, readyImage } from './image-choice.ts';
import { inspectRuntime, listRuntimes, watchRuntimes } from './listing.ts';
import { GATE_MODULE, hasPart } from './modules.ts';
import { probeMicrovm } from './probe.ts';
import { readRecord } from './record.ts';
import { listSnapshots } from './snapshot-prune.ts';
import { SnapshotSource } from './snapshot-source.ts';
import { type MicrovmState, openState } from './state.ts';

/** Touches the host only when used. Runtimes carry the instance's name and outlive this object and this process. */
export function microvmProvider(deps: MicrovmDeps): Provider {
  const state = openState(deps);
  const snapshots = new SnapshotSource(state);
  // Those of its monitor: emulation and devices are part of what it uses.
  const usage = localReadings(state, {
    folders: state.folders,
    cgroups: state.cgroups,
    recorded: async (folder) => (await readRecord(folder))?.cgroups,
  });
  return {
    kind: 'microvm',
    capabilities: capabilitiesOf(state),
    hasNetwork: state.config.network !== 'none',
    hasEgress: true,
    gateRefusal: () => gateRefusal(state),
    presentImages: () => presentImages(state),
    readyImage: (spec, signal) => readyImage(state, spec, signal),
    imageState: (spec) => imageState(state, spec),
    imageId: (spec) => imageId(state, spec),
    describe: () => ({ isolation: isolationOf(state), images: state.knownImages() }),
    probe: (signal) => probeMicrovm(state, signal),
    create: (spec, signal) => createRuntime(state, snapshots, spec, signal),
    inspect: (ref) => inspectRuntime(state, ref),
    destroy: async (ref, signal) => {
      await clear(state, runtimeName(ref), signal);
      usage.forget(ref);
    },
    usage: usage.read,
    attach: async (ref, signal) => {
      const { sockets } = runtimePaths(state.folders, runtimeName(ref));
      return sandboxSession(
        state,
        ref,
        { stream: await state.monitor.openAgent(state.clock, sockets.agent, signal) },
        signal,
      );
    },
    list: async () => {
      await snapshots.tidy().catch((error: unknown) => {
        state.logger.warn(
          { err: error },
          'Could not end an unfinished snapshot run; retrying on the next list.',
        );
      });
      return listRuntimes(state);
    },
    watch: (onEvent, signal) => watchRuntimes(state, onEvent, signal),
    ...(state.monitor.restores && { snapshots: () => listSnapshots(state) }),
    close: async () => {
      usage.close();
      await snapshots.close();
      await state.leave();
    },
  };
}

/** A kernel without a folder of modules has to have all built in; its guests find out. */
async function gateRefusal({ machinery }: MicrovmState): Promise<string | undefined> {
  const { modules } = await machinery.kernel();
  if (modules === undefined || (await hasPart(modules, GATE_MODULE))) return undefined;
  return 'The kernel for microVMs has no veth, which a transparent gate needs.';
}

function isolationOf({ config, host, accelerator, bounds }: MicrovmState): Isolation {
  const bounded = bounds();
  const kind = accelerator();
  const machine =
    kind === undefined
      ? 'virtual_machine: a kernel of its own'
      : `virtual_machine: a kernel of its own, by ${kind === 'kvm' ? 'kvm' : 'emulation, which is slow'}`;
  return {
    filesystem: 'virtual_machine: image read-only, changes on a disk of its own',
    process: machine,
    network:
      config.network === 'none'
        ? 'virtual_machine: own loopback only'
        : "outgoing: reaches all that this machine reaches, its loopback included, as the monitor's user",
    memory: `virtual_machine: fixed size${bounded?.has('memory') ? ', the monitor by cgroup' : ''}`,
    cpu: bounded?.has('cpu')
      ? 'cgroup: quota of the processors asked for, and of one for devices'
      : 'virtual_machine: as many processors as asked for, no quota',
    disk: config.overlay_mb > 0 ? 'bounded: a disk of fixed size' : 'bounded: memory of the guest',
    user:
      host.uid === 0
        ? 'own_uid: the monitor has a host user of its own, no privileges and a system call filter'
        : "server_uid: the monitor has the server's own host user and a system call filter",
  };
}

function capabilitiesOf({ config, monitor }: MicrovmState): readonly Capability[] {
  const snapshots: readonly Capability[] = config.snapshots && monitor.restores ? ['snapshots'] : [];
  return ['exec', 'stream', 'pty', 'detach', 'files', 'connect', 'console', ...snapshots, 'network_none'];
}
