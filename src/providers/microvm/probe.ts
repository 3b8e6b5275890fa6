// Whether virtual machines can start, and with which parts.
import { abortable } from '../../domain/timeout.ts';
import { findSystemProgram } from '../../host/system-program.ts';
import { type Finding, finding } from '../findings.ts';
import type { ProbeReport } from '../provider.ts';
import { presentImages } from './image-choice.ts';
import { noImages } from './images.ts';
import { noFormatter } from './overlay.ts';
import type { MicrovmState } from './state.ts';

/** Never throws. Settles when `signal` aborts; the checks continue for the next probe. */
export async function probeMicrovm(state: MicrovmState, signal: AbortSignal): Promise<ProbeReport> {
  const { machinery } = state;
  const dataFolder = state.checkDataFolder();
  const inDataFolder = <T>(work: () => Promise<T>) => dataFolder.then(work);
  const looks = [
    finding('monitor', async () => `${state.monitor.title} ${(await machinery.monitor()).version} is there.`),
    finding('kernel', async () => `Guests run Linux ${(await inDataFolder(machinery.kernel)).version}.`),
    finding('agent', () => inDataFolder(machinery.initramfs).then(() => 'The guest agent is ready.')),
    finding('images', async () =>
      imagesThere(await inDataFolder(state.imageNames), await presentImages(state)),
    ),
    ...(state.config.overlay_mb > 0 ? [finding('overlay', () => formatter(state))] : []),
    accelerator(() => inDataFolder(machinery.accelerator)),
  ];
  const late = { name: 'probe', ok: false, message: 'The probe did not end in time.' };
  const findings = await Promise.all(looks.map((each) => abortable(each, signal).catch(() => late)));
  const fault = findings.find(({ ok, name }) => !ok && name !== 'accelerator');
  return { healthy: fault === undefined, ...(fault && { message: fault.message }), findings };
}

/** Throws `unavailable` when no spawn could start. */
function imagesThere(own: readonly string[], all: readonly string[]): string {
  if (own.length > 0) return `Images: ${own.join(', ')}.`;
  if (all.length > 0) return `Images of the store: ${all.length}. Spawns must name one.`;
  throw noImages();
}

async function formatter({ host }: MicrovmState): Promise<string> {
  if (!(await findSystemProgram(host, 'mke2fs'))) throw noFormatter();
  return 'Overlay disks can be formatted.';
}

/** Reports emulation, which works, as a finding. */
async function accelerator(choose: () => Promise<string>): Promise<Finding> {
  const choice = await finding('accelerator', choose);
  if (choice.message !== 'emulation')
    return choice.ok ? { ...choice, message: 'KVM runs guests.' } : { ...choice, name: 'kvm' };
  const message =
    'Guests are emulated, which is many times slower: KVM does not work on this host, or providers.microvm.accelerator excludes it.';
  return { ...choice, ok: false, message };
}
