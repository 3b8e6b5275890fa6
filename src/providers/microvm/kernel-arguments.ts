// What the guest's kernel is told. Measured: what is here takes a second off an emulated boot.
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
 * Each piece of the kernel's code costs a restored guest its translation: what nobody asked for is left out. An emulated
 * processor has no speculation to guard against, and is late whenever this machine is busy, which is no lockup.
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
  // The guest's counter is this machine's. Told how fast it runs, the kernel need not measure: a busy machine spoils the
  // measurement, and then there is no clock, or a boot without end.
  const clock = ['tsc=reliable', `tsc_early_khz=${accelerator.tscKhz}`];
  return [...ALWAYS, ...EMULATED, ...clock].join(' ');
}
