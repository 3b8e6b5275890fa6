// A plan in the words of Firecracker's API: resources and their bodies in the order of asking.
import { kernelArguments, type MonitorPlan, type Trial } from '../monitor-kind.ts';

/** The agent's port on the guest's vsock. (agent/src/vm/vm-vsock.c) */
export const AGENT_PORT = 1024;
/** The first that a guest may have. vsock(7) */
const GUEST_CID = 3;
const TRIAL_MB = 128;

export interface ApiRequest {
  path: string;
  body: object;
}

/** All but the start. */
export function requestsFor(plan: MonitorPlan): ApiRequest[] {
  return [
    { path: '/machine-config', body: machine(plan) },
    { path: '/boot-source', body: bootSource(plan) },
    drive('image', plan.image, true),
    drive('settings', plan.settings, true),
    ...(plan.overlay ? [drive('overlay', plan.overlay, false)] : []),
    { path: '/entropy', body: {} },
    { path: '/vsock', body: { guest_cid: GUEST_CID, uds_path: plan.sockets.agent } },
  ];
}

export const START: ApiRequest = { path: '/actions', body: { action_type: 'InstanceStart' } };

/** The same for a file that it reads instead of being asked. */
export function trialOf(trial: Trial) {
  return {
    'machine-config': machine({ vcpus: 1, memory_mb: TRIAL_MB }),
    'boot-source': bootSource(trial),
    drives: [],
  };
}

function machine({ vcpus, memory_mb }: Pick<MonitorPlan, 'vcpus' | 'memory_mb'>) {
  return { vcpu_count: vcpus, mem_size_mib: memory_mb, smt: false };
}

/** A reset by the keyboard controller is the one that ends this monitor. */
function bootSource({ kernel, initramfs }: Pick<MonitorPlan, 'kernel' | 'initramfs'>) {
  return {
    kernel_image_path: kernel,
    initrd_path: initramfs,
    boot_args: `${kernelArguments({ kind: 'kvm' })} reboot=k pci=off`,
  };
}

/** None is the root device to it: that would only add words to the kernel's arguments. */
function drive(id: string, path: string, isReadOnly: boolean): ApiRequest {
  const body = { drive_id: id, path_on_host: path, is_root_device: false, is_read_only: isReadOnly };
  return { path: `/drives/${id}`, body };
}
