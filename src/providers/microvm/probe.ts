// Whether virtual machines can start, and with which parts.
import { asServiceError } from '../../domain/errors.ts';
import { abortable } from '../../domain/timeout.ts';
import type { ProbeReport } from '../provider.ts';
import { findProgram, noFormatter } from './overlay.ts';
import type { MicrovmState } from './state.ts';

type Finding = ProbeReport['findings'][number];

/** Never throws. Settles when `signal` aborts; the checks continue for the next probe. */
export async function probeMicrovm(state: MicrovmState, signal: AbortSignal): Promise<ProbeReport> {
  const { machinery } = state;
  const dataFolder = state.checkDataFolder();
  const inDataFolder = <T>(work: () => Promise<T>) => dataFolder.then(work);
  const looks = [
    look('monitor', async () => `${state.monitor.title} ${(await machinery.monitor()).version} is there.`),
    look('kernel', async () => `Guests run Linux ${(await inDataFolder(machinery.kernel)).version}.`),
    look('agent', () => inDataFolder(machinery.initramfs).then(() => 'The guest agent is ready.')),
    look('images', async () => `Images: ${(await inDataFolder(state.imageNames)).join(', ')}.`),
    ...(state.config.overlay_mb > 0 ? [look('overlay', () => formatter(state))] : []),
    accelerator(() => inDataFolder(machinery.accelerator)),
  ];
  const late = { name: 'probe', ok: false, message: 'The probe did not end in time.' };
  const findings = await Promise.all(looks.map((each) => abortable(each, signal).catch(() => late)));
  const fault = findings.find(({ ok, name }) => !ok && name !== 'accelerator');
  return { healthy: fault === undefined, ...(fault && { message: fault.message }), findings };
}

async function formatter({ host }: MicrovmState): Promise<string> {
  if (!(await findProgram(host, 'mke2fs'))) throw noFormatter();
  return 'Overlay disks can be formatted.';
}

async function look(name: string, words: () => Promise<string>): Promise<Finding> {
  try {
    return { name, ok: true, message: await words() };
  } catch (error) {
    const { message, remedy } = asServiceError(error);
    return { name, ok: false, message: remedy ? `${message} ${remedy}` : message };
  }
}

/** Reports emulation, which works, as a finding. */
async function accelerator(choose: () => Promise<string>): Promise<Finding> {
  const finding = await look('accelerator', choose);
  if (finding.message !== 'emulation')
    return finding.ok ? { ...finding, message: 'KVM runs guests.' } : { ...finding, name: 'kvm' };
  const message =
    'Guests are emulated, which is many times slower: KVM does not work on this host, or providers.microvm.accelerator excludes it.';
  return { ...finding, ok: false, message };
}
