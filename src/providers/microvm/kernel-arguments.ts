// The command line of the guest's kernel. Measured: these arguments take a second off an emulated boot.
import type { Accelerator } from './monitor-plan.ts';

const ALWAYS = [
  'console=ttyS0',
  'quiet',
  // A guest that crashes ends its monitor.
  'panic=-1',
  'reboot=t',
  // The processor's random numbers count, the crypto code does not test itself, and there is no keyboard to wait for.
  'random.trust_cpu=on',
  'cryptomgr.notests',
  'i8042.noaux',
  'i8042.nokbd',
  '8250.nr_uarts=1',
];

/**
 * Each piece of kernel code costs a restored guest its translation, so unneeded code is left out. An emulated processor has no
 * speculation to guard against, and is late when this machine is busy, which is not a lockup.
 */
const EMULATED = [
  'mitigations=off',
  'nowatchdog',
  'noautogroup',
  'psi=0',
  'lsm=landlock,lockdown,yama',
  'init_on_alloc=0',
  'transparent_hugepage=madvise',
];

/** The command line; the guest can read it. */
export function kernelArguments(accelerator: Accelerator): string {
  if (accelerator.kind === 'kvm') return ALWAYS.join(' ');
  // The guest has this machine's counter. The kernel gets its rate as an argument: a busy machine spoils a measurement, which
  // leaves a guest without a clock or a boot without end.
  const clock = ['tsc=reliable', `tsc_early_khz=${accelerator.tscKhz}`];
  return [...ALWAYS, ...EMULATED, ...clock].join(' ');
}
