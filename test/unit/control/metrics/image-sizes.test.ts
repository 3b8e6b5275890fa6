// The size of the image store for scrapes, while the store answers, fails or hangs.
import { expect, it } from 'vitest';
import { ImageSizeReader } from '../../../../src/control/metrics/image-sizes.ts';
import { fakeClock } from '../../../support/fakes/ports.ts';

const SIZES = { images: 2, layers: 300, disks: 0, partial: 7 };

it('is read again after 30 seconds', async () => {
  const clock = fakeClock();
  let reads = 0;
  const reader = new ImageSizeReader({ sizes: async () => ({ ...SIZES, images: ++reads }) }, clock);
  expect((await reader.read())?.images).toBe(1);
  expect((await reader.read())?.images).toBe(1);
  await clock.advance(30_000);
  expect((await reader.read())?.images).toBe(2);
});

it('is unknown while the store hangs, and read once at a time', async () => {
  const clock = fakeClock();
  let answer: (sizes: typeof SIZES) => void = () => undefined;
  let reads = 0;
  const sizes = () => {
    reads++;
    return new Promise<typeof SIZES>((resolve) => {
      answer = resolve;
    });
  };
  const reader = new ImageSizeReader({ sizes }, clock);
  for (let scrape = 0; scrape < 3; scrape++) {
    const read = reader.read();
    await clock.advance(60_000);
    expect(await read).toBeUndefined();
  }
  answer(SIZES);
  expect(reads).toBe(1);
  const after = reader.read();
  answer(SIZES);
  expect(await after).toEqual(SIZES);
});

it('is unknown where the store fails, and where there is none', async () => {
  const clock = fakeClock();
  const failing = new ImageSizeReader({ sizes: () => Promise.reject(new Error('EIO')) }, clock);
  expect(await failing.read()).toBeUndefined();
  expect(await new ImageSizeReader(undefined, clock).read()).toBeUndefined();
});
