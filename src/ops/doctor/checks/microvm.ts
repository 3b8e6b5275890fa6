// The microvm provider: the findings of its own probe, and whether built images are unchanged. A guest that is booted
// to try KVM may take longer than a probe: it continues meanwhile, so a later probe knows.
import { listImages } from '../../../providers/microvm/images.ts';
import { hashFile } from '../../db/copy-file.ts';
import { type CheckContext, type Finding, pass, skip } from '../check.ts';
import { failIfNeeded, findingsOf, providerGroup } from './provider.ts';

const KIND = 'microvm';
const TRIAL_MS = 30_000;
const AGAIN_MS = 250;
const HASH_MS = 180_000;

const finding = findingsOf(KIND);

export const MICROVM = providerGroup(KIND, [
  finding(
    'monitor',
    'Monitor',
    'Install the program in providers.microvm.monitor (package qemu-system-x86), or set providers.microvm.monitor_path.',
  ),
  finding('kernel', 'Guest kernel', 'Install linux-image-cloud-amd64, or set providers.microvm.kernel_path.'),
  finding('agent', 'Guest agent', 'Reinstall svc, or set providers.microvm.agent_path.'),
  finding('images', 'Images', 'Build an image with svc image build, or correct providers.microvm.images.'),
  { name: 'contents', title: 'Image contents', deadlineMs: HASH_MS, look: contents },
  { name: 'accelerator', title: 'KVM acceleration', deadlineMs: TRIAL_MS, look: accelerator },
]);

async function contents(context: CheckContext, signal: AbortSignal): Promise<Finding> {
  const { data_dir: dataFolder } = context.config.providers.microvm;
  const built = await listImages({ dataFolder, configured: {} });
  if (built.length === 0) return skip('This machine has no built images.');
  for (const { name, path, version } of built) {
    const { sha256 } = await hashFile(path, { signal });
    if (sha256 !== version)
      return failIfNeeded(
        context,
        KIND,
        `The contents of image ${name} changed after the build.`,
        'Rebuild the image with svc image build.',
      );
  }
  return pass(`All ${built.length} images have their original contents.`);
}

const NAMES = ['accelerator', 'kvm'];
const FIX =
  'Enable (nested) virtualization and let the service open /dev/kvm, or set providers.microvm.accelerator to emulation.';

async function accelerator(context: CheckContext, signal: AbortSignal): Promise<Finding> {
  for (;;) {
    const { findings } = await (await context.provider(KIND)).probe(signal);
    const found = findings.find(({ name }) => NAMES.includes(name));
    if (found?.ok) return pass(found.message);
    if (found && found.name === 'accelerator' && !context.production)
      return { verdict: 'warn', message: found.message, remedy: FIX };
    if (found) return failIfNeeded(context, KIND, found.message, FIX);
    await context.clock.sleep(AGAIN_MS, signal);
  }
}
