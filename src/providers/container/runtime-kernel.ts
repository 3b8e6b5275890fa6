// What the kernel of a sandbox is under an OCI runtime. The name is all that says what a runtime is: ours is told for
// those that are widely known under theirs.

/**
 * gVisor runs threads of its own on the engine's host for each thread of the sandbox: up to three, and more while many
 * start at once (50 shells with a child each were seen to need more than 1,024).
 */
const GVISOR_THREADS = 8;

/** In words. '' is the engine's default of an engine not asked yet. */
export function kernelWords(runtime: string): string {
  if (isGvisor(runtime)) return `${runtime}: its own, in user space (gVisor)`;
  if (/kata|firecracker/i.test(runtime)) return `${runtime}: its own, in a virtual machine`;
  if (/^(runc|crun|io\.containerd\.runc.*)?$/.test(runtime))
    return `${runtime || 'runc'}: shared with the engine's host`;
  return `${runtime}: as that runtime does it`;
}

/**
 * The cgroup's limit with room for `processes` of a sandbox. What gVisor itself cannot start it does not survive: the
 * sandbox would end where a command should be refused.
 */
export function hostProcesses(runtime: string, processes: number): number {
  return isGvisor(runtime) ? processes * GVISOR_THREADS : processes;
}

/** The limit in words that hold under this runtime. */
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

/** What filters system calls. gVisor carries them out itself and leaves the profile unread (unless it has --oci-seccomp). */
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
