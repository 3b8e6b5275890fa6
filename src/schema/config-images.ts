// The section images of the configuration.
import type { Static } from 'typebox';
import { hostText, integer, section } from './config-kinds.ts';

const MEBIBYTE = 1024 * 1024;
const GIBIBYTE = 1024 * MEBIBYTE;

export const ImagesConfig = section('The image store of this machine: `svc image import` fills it.', {
  path: hostText({
    description: 'Folder of the store; a file system of its own is best.',
    defaultText: '/var/lib/svc/images for root, else ~/.svc/images',
  }),
  max_image_bytes: integer(
    16 * GIBIBYTE,
    MEBIBYTE,
    1024 * 1024 * GIBIBYTE,
    'Largest layer of an image in bytes, unpacked.',
  ),
  max_entries: integer(1_000_000, 1, 100_000_000, 'Maximum number of files and folders in a layer.'),
});
export type ImagesConfig = Static<typeof ImagesConfig>;
