// The names under which a list of images may have an image.
import { expect, it } from 'vitest';
import { imageForms } from '../../../src/domain/image-name.ts';

it.each([
  ['debian', ['debian', 'debian:latest']],
  ['debian:12', ['debian:12']],
  ['docker.io/library/debian:12', ['docker.io/library/debian:12', 'debian:12']],
  ['docker.io/team/app', ['docker.io/team/app', 'team/app:latest']],
  ['ghcr.io/team/app:1', ['ghcr.io/team/app:1']],
  ['My Own Name', ['My Own Name']],
])('of %s are the given name, and the short name with its tag', (image, forms) => {
  expect(imageForms(image)).toEqual(forms);
});
