// Differences between request and sandbox that a worker reports, in sentences of this program. What a worker writes is
// compared with the sentences of our providers and never shown: only those, with their numbers, reach a client.
import { keptWarnings } from '../../domain/differences.ts';
import type { RuntimeSpec } from '../provider.ts';

/** Sentences of the providers that run on workers; # is a number. */
export const SENTENCES = [
  'memory_mb is #: providers.container.max_memory_mb sets this limit.',
  "vcpus is #: the engine's host has this many processors.",
  'Memory is not limited: the kernel of the engine does not support it.',
  'Swap is not limited: the kernel of the engine does not support it.',
  'Processes are not limited: the kernel of the engine does not support it.',
  'System calls are not filtered: the kernel of the engine does not support it.',
  'vcpus is not enforced: the kernel of the engine does not support it.',
  "/workspace is # MB of memory and counts as such: the sandbox's user cannot write to the image's disk.",
  'proot does not isolate: this sandbox can reach the files, processes and network of the host as its user.',
  'memory_mb is # instead of #: providers.userspace.max_memory_mb limits it.',
  'memory_mb limits each process, not their sum, and vcpus is not enforced: the server cannot create cgroups.',
  'memory_mb limits each process, not their sum: the server cannot create cgroups of memory.',
  'vcpus is not enforced: the server cannot create cgroups of processors.',
  'Names do not resolve: the image has no file /etc/resolv.conf.',
  'The image is read-only: bubblewrap does not support an overlay.',
  'The image is read-only: this kernel refuses an overlay here.',
  'Files of the image cannot be changed: this kernel has no idmapped mounts here.',
  'Only # of # environment variables of the image are set.',
  'Memory is # MB instead of #.',
  'There are # processors instead of #.',
  'memory_mb: # were requested; the template has #.',
  'vcpus: # were requested; the template has #.',
  'memory_mb: # were requested; the backend gave #.',
  'vcpus: # were requested; the backend gave #.',
];
const OTHER_IMAGE =
  /(?:Image \S{1,512} is not (?:on this machine|configured for userspace|an image for virtual machines)|proot cannot protect image \S{1,512} from changes): the sandbox runs on \S{1,512}\./g;
const VOLUMES = /The image declares volumes: .{1,900}? Each is memory of bounded size, and empty\./g;

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
const KNOWN = new RegExp(SENTENCES.map((text) => escaped(text).replaceAll('#', '\\d{1,9}')).join('|'), 'g');

/**
 * The known differences in `texts`, at most as many as are kept. Anything else becomes one sentence that names the worker;
 * its log has the text.
 */
export function reportedDifferences(
  worker_id: string,
  { image }: Pick<RuntimeSpec, 'image'>,
  texts: readonly string[],
): string[] {
  const found: string[] = [];
  let isUnknown = false;
  for (const text of texts) {
    const rest = text
      .replace(KNOWN, (sentence) => take(found, sentence))
      .replace(OTHER_IMAGE, () =>
        take(found, `${image ?? 'The image'} is not an image of worker ${worker_id}.`),
      )
      .replace(VOLUMES, () =>
        take(found, 'The image declares volumes. Each is memory of bounded size, and empty.'),
      );
    if (rest.trim() !== '') isUnknown = true;
  }
  if (isUnknown) found.unshift(`Worker ${worker_id} reports a difference that this server does not know.`);
  return keptWarnings(found);
}

/** Keeps `sentence` once, and leaves nothing of it in the text. */
function take(found: string[], sentence: string): string {
  if (!found.includes(sentence)) found.push(sentence);
  return '';
}
