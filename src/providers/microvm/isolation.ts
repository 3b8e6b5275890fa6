// The isolation of a sandbox on this host, for `svc provider get microvm`. Lists only what is in force.
import type { Capability, Isolation } from '../../schema/provider.ts';
import type { MicrovmState } from './state.ts';

export function isolationOf({ config, host, accelerator, bounds }: MicrovmState): Isolation {
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

export function capabilitiesOf({ config, monitor }: MicrovmState): readonly Capability[] {
  const snapshots: readonly Capability[] = config.snapshots && monitor.restores ? ['snapshots'] : [];
  return ['exec', 'stream', 'pty', 'detach', 'files', 'connect', 'console', ...snapshots, 'network_none'];
}
