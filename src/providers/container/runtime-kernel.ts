// The kernel of a sandbox under an OCI runtime. A runtime is recognised by its name alone; unknown names are reported as
// they are.

/**
 * gVisor runs up to three threads of its own on the engine's host for each thread of the sandbox, and more while many
 * start at once (50 shells with a child each needed more than 1,024).
 */
const GVISOR_THREADS = 8;

/** A description of the kernel. '' stands for the default runtime of an engine that has not answered yet. */
export function kernelWords(runtime: string): string {
  if (isGvisor(runtime)) return `${runtime}: its own, in user space (gVisor)`;
  if (/kata|firecracker/i.test(runtime)) return `${runtime}: its own, in a virtual machine`;
  if (/^(runc|crun|io\.containerd\.runc.*)?$/.test(runtime))
    return `${runtime || 'runc'}: shared with the engine's host`;
  return `${runtime}: as that runtime does it`;
}

/**
 * The cgroup's limit for `processes` of a sandbox. gVisor does not survive a thread that it cannot start: the sandbox would
 * end instead of the command failing.
 */
export function hostProcesses(runtime: string, processes: number): number {
  return isGvisor(runtime) ? processes * GVISOR_THREADS : processes;
}

export function processWords(runtime: string, processes: number): string {
  const most = hostProcesses(runtime, processes);
  return most === processes
    ? `at most ${most} processes`
    : `at most ${most} threads, gVisor's own among them`;
}

/** The engine's kernel sees gVisor as one process: it cannot kill a single command inside. */
export function memoryWords(runtime: string): string {
  const limit = 'cgroup: hard limit for all processes';
  return isGvisor(runtime) ? `${limit}; a command that exceeds it can end the sandbox` : limit;
}

/** A description of the system call filter. gVisor executes calls itself and ignores the profile (without --oci-seccomp). */
export function callWords(runtime: string, profile: string): string {
  if (isGvisor(runtime)) return 'system calls carried out by its own kernel';
  if (profile === 'unconfined') return 'seccomp off';
  if (profile === 'svc') return 'seccomp our profile';
  return profile === 'default' || profile === ''
    ? "seccomp the engine's profile"
    : 'seccomp a configured profile';
}

/** Its kernel refuses the limit on message queues that each tenant of a pool gets (agent/src/base/user.c). */
export function isGvisor(runtime: string): boolean {
  return /runsc|gvisor/i.test(runtime);
}
