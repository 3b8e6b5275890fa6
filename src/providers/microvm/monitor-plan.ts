// One virtual machine to be started, in full: what create decided, before a monitor's words for it. Types only.

export interface MonitorPlan {
  /** What the process list shows. */
  name: string;
  accelerator: Accelerator;
  memory_mb: number;
  vcpus: number;
  /** An uncompressed kernel with a PVH entry, and its first root. */
  kernel: string;
  initramfs: string;
  /** Root of the guest, read-only. */
  image: string;
  /** What the guest may change, a raw file; undefined: memory of the guest. */
  overlay: string | undefined;
  /** The file with svc-agent's settings, in the monitor's format. */
  settings: string;
  network: 'none' | 'user';
  sockets: { agent: string; monitor: string };
  pidfile: string;
  /** The user that the monitor becomes once its files are open; undefined: the server's. */
  user: { uid: number; gid: number } | undefined;
  memory: MonitorMemory;
  /** Waits for the state of another one instead of booting. `-incoming` of qemu(1) */
  incoming?: string;
}

export type Accelerator =
  | { kind: 'kvm' }
  /** `tscKhz`: how fast this machine's time stamp counter runs, which the guest's then does. */
  | { kind: 'emulation'; tscKhz: number };

/** The guest's memory: its own, or a file's, which it changes (`isShared`) or takes a private view of. */
export type MonitorMemory = { kind: 'own' } | { kind: 'file'; path: string; isShared: boolean };
