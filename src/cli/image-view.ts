// Images as text for people.
import type { Image, ImageSummary } from '../schema/image.ts';
import type { ImageFailure, ImagesPulled, ImagesStored, PulledImage } from '../schema/image-calls.ts';
import type {
  ImageBuildReport,
  ImageListItem,
  ImageRemoval,
  ImageVerification,
  VerifiedImage,
} from '../schema/image-report.ts';
import type { Snapshot } from '../schema/snapshot.ts';
import { line } from './print.ts';
import { facts, sizeText, tableOf } from './render.ts';

/** Differences of an image that people are shown. */
const SHOWN = 20;

/** Progress texts by stage. */
export const STAGE_WORDS: Readonly<Record<string, string>> = {
  read: 'Reading',
  make: 'Creating the file system',
  check: 'Checking it',
  hash: 'Hashing',
  install: 'Installing',
  ask: 'Asking the registry',
  tree: 'Merging the layers',
  send: 'Sending the archive',
};

export const imageTable = tableOf<ImageListItem>(
  [
    { title: 'name', value: ({ name }) => name },
    { title: 'provider', value: ({ provider }) => provider },
    { title: 'size', value: ({ size_bytes }) => sizeText(size_bytes), align: 'right' },
    { title: 'created', value: ({ created_at }) => created_at },
    { title: 'source', value: ({ source }) => source },
    { title: 'digest', value: ({ digest }) => digest?.replace('sha256:', '').slice(0, 12) },
  ],
  'No images. Pull one with `svc image pull`, import one with `svc image import`, or build a disk for microVMs with `svc image build`.',
);

export const serverImageTable = tableOf<ImageSummary>(
  [
    { title: 'name', value: ({ name }) => name },
    { title: 'worker', value: ({ worker_id }) => worker_id },
    { title: 'size', value: ({ size_bytes }) => sizeText(size_bytes), align: 'right' },
    { title: 'created', value: ({ stored_at }) => stored_at },
    { title: 'source', value: ({ source }) => source },
    { title: 'digest', value: ({ digest }) => digest.replace('sha256:', '').slice(0, 12) },
  ],
  'No images. Pull one with `svc image pull --server URL`.',
);

export function imageBuiltText(report: ImageBuildReport): string {
  return facts([
    ['image', report.name],
    ['size', sizeText(report.size_bytes)],
    ['files', `${report.files}, ${sizeText(report.content_bytes)}`],
    ['source', report.source],
    ['sha256', report.digest],
    ['warnings', report.warnings],
    ['took', `${(report.duration_ms / 1000).toFixed(1)} s`],
  ]);
}

export function imageText(image: Image): string {
  const { config } = image;
  return facts([
    ['image', image.name],
    ['worker', image.worker_id],
    ['digest', image.digest],
    ['platform', image.runnable ? image.platform : `${image.platform}, which this machine cannot run`],
    ['size', `${sizeText(image.size_bytes)}, ${sizeText(image.shared_bytes)} shared with other images`],
    [
      'disk',
      image.disk_bytes === undefined ? undefined : `${sizeText(image.disk_bytes)} for virtual machines`,
    ],
    ['files', image.files],
    ['source', image.source],
    ['access', image.private ? 'private: it was pulled with credentials' : undefined],
    ['stored', image.stored_at],
    ['last used', image.last_used_at],
    ['sandboxes', image.sandboxes],
    ['user', config.user],
    ['workdir', config.workdir],
    ['env', Object.entries(config.env).map(([name, value]) => `${name}=${value}`)],
    ['entrypoint', config.entrypoint.join(' ')],
    ['cmd', config.cmd.join(' ')],
    ['ports', config.exposed_ports.join(' ')],
    ['layers', image.layers],
    ['warnings', image.warnings],
  ]);
}

export const imagesText = (images: readonly Image[]): string => images.map(imageText).join('\n\n');

export function pulledText({ fetched_bytes, unchanged, ...image }: PulledImage): string {
  const summary = unchanged
    ? line`${image.name} is up to date.`
    : line`Pulled ${image.name}: fetched ${sizeText(fetched_bytes)}.`;
  return `${summary}\n\n${imageText(image)}`;
}

/** A line for each store that failed while others succeeded. */
export const failureLines = (failures: readonly ImageFailure[] | undefined): string[] =>
  (failures ?? []).map(({ worker_id, message }) => line`Failed on ${worker_id}: ${message}`);

export const pulledByServerText = ({ images, failures }: ImagesPulled): string =>
  [...images.map(pulledText), ...failureLines(failures)].join('\n\n');

export const storedByServerText = ({ images, failures }: ImagesStored): string =>
  [imagesText(images), ...failureLines(failures)].join('\n\n');

export function pruneText(
  { removed, freed_bytes }: Pick<ImageRemoval, 'removed' | 'freed_bytes'>,
  isTrial: boolean,
): string {
  const done = isTrial ? 'Would remove' : 'Removed';
  const names = removed.length === 0 ? 'no images' : removed.join(', ');
  return line`${done} ${names}: ${sizeText(freed_bytes)}.`;
}

export function verifiedText({ images }: ImageVerification): string {
  return images.length === 0 ? 'No images.' : images.map(verifiedImageText).join('\n');
}

function verifiedImageText({ name, checked, differences }: VerifiedImage): string {
  if (differences.length === 0) return line`${name}: ${checked} files are as stored.`;
  const most = differences.slice(0, SHOWN);
  const rest = differences.length - most.length;
  return [
    line`${name}: ${differences.length} of ${checked} files differ.`,
    ...most.map(({ path, problem }) => line`  /${path}: ${problem}`),
    ...(rest > 0 ? [`  … and ${rest} more; --json lists up to 1,000.`] : []),
  ].join('\n');
}

export const snapshotTable = tableOf<Snapshot>(
  [
    { title: 'image', value: ({ image }) => image },
    { title: 'kernel', value: ({ kernel }) => kernel },
    { title: 'size', value: ({ size }) => sizeText(size), align: 'right' },
    { title: 'created', value: ({ created_at }) => created_at },
    { title: 'provider', value: ({ provider }) => provider },
  ],
  'No snapshots.',
);
