// What `svc image inspect` prints.
import { expect, it } from 'vitest';
import { imageText } from '../../../src/cli/image-view.ts';
import { FAKE_IMAGE } from '../../support/fakes/images.ts';

const lines = (change: object) => imageText({ ...FAKE_IMAGE, ...change }).replaceAll(/ {2,}/g, ' ');

it('shows the disk for virtual machines, and who may use the image, where there is something to say', () => {
  expect(lines({})).not.toMatch(/^(?:disk|access):/m);
  expect(lines({ disk_bytes: 201_326_592, private: true })).toMatch(
    /^disk: .*192.* for virtual machines$(?:.|\n)*^access: private: it was pulled with credentials$/m,
  );
});
