// Our own seccomp profile, in the engine's format. The profile of older engines lets a container open sockets to the host
// of a virtual machine (AF_VSOCK), use io_uring and run code of the other architecture, where no rule looks at sockets.

import { readFile } from 'node:fs/promises';
import { ServiceError } from '../../domain/errors.ts';
import { CALLS, CALLS_WITH } from './seccomp-calls.ts';

const ENOSYS = 38;
/** UNIX, INET, INET6, NETLINK: those that belong to a network namespace, or to none. address_families(7) */
const FAMILIES = [1, 2, 10, 16];
/** NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. clone(2) */
const NAMESPACES = 0x7e02_0000;
/** Linux in 32 or 64 bits, with or without UNAME26, and the query of the current value. personality(2) */
const PERSONALITIES = [0, 0x8, 0x2_0000, 0x2_0008, 0xffff_ffff];

const ALLOW = { action: 'SCMP_ACT_ALLOW' } as const;
const is = (value: number) => ({ index: 0, value, op: 'SCMP_CMP_EQ' });
const native = (architecture: string) => ({ architecture, subArchitectures: [] });

/**
 * Forbidden calls fail with ENOSYS as on an older kernel, so that C libraries fall back. A call of another architecture
 * ends the program.
 */
export const SECCOMP_PROFILE = {
  defaultAction: 'SCMP_ACT_ERRNO',
  defaultErrnoRet: ENOSYS,
  archMap: [native('SCMP_ARCH_X86_64'), native('SCMP_ARCH_AARCH64')],
  syscalls: [
    ...Object.values(CALLS).map((names) => ({ names, ...ALLOW })),
    ...FAMILIES.map((family) => ({ names: ['socket', 'socketpair'], ...ALLOW, args: [is(family)] })),
    ...PERSONALITIES.map((value) => ({ names: ['personality'], ...ALLOW, args: [is(value)] })),
    {
      names: ['clone'],
      ...ALLOW,
      args: [{ index: 0, value: NAMESPACES, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }],
      excludes: { caps: ['CAP_SYS_ADMIN'] },
    },
    // Filters cannot read its flags, which are in memory.
    { names: ['clone3'], action: 'SCMP_ACT_ERRNO', errnoRet: ENOSYS },
    ...Object.entries(CALLS_WITH).map(([cap, names]) => ({ names, ...ALLOW, includes: { caps: [cap] } })),
  ],
};

const OURS = JSON.stringify(SECCOMP_PROFILE);

/** The profile as text, or undefined for the engine's own. Throws `provider_error` for an unreadable file or invalid JSON. */
export async function seccompProfile(setting: string): Promise<string | undefined> {
  if (setting === 'svc') return OURS;
  if (setting === 'default' || setting === '') return undefined;
  if (setting === 'unconfined') return setting;
  try {
    return JSON.stringify(JSON.parse(await readFile(setting, 'utf8')));
  } catch (cause) {
    throw new ServiceError('provider_error', 'Cannot read the seccomp profile.', {
      cause,
      remedy: 'Check providers.container.seccomp_profile.',
    });
  }
}
