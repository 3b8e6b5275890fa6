// MicroVM images as text for people.
import type { ImageBuildReport, ImageItem } from '../schema/image-report.ts';
import type { Snapshot } from '../schema/snapshot.ts';
import { facts, sizeText, tableOf } from './render.ts';

/** Progress texts by stage. */
export const STAGE_WORDS: Readonly<Record<string, string>> = {
  read: 'Reading',
  make: 'Creating the file system',
  check: 'Checking it',
  hash: 'Hashing',
  install: 'Installing',
};

export const imageTable = tableOf<ImageItem>(
  [
    { title: 'name', value: ({ name }) => name },
    { title: 'size', value: ({ size_bytes }) => sizeText(size_bytes), align: 'right' },
    { title: 'created', value: ({ created_at }) => created_at },
    { title: 'source', value: ({ source }) => source },
    { title: 'digest', value: ({ digest }) => digest?.slice(0, 12) },
  ],
  'No images. Build one with `svc image build`.',
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
