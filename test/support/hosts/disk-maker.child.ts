// Makes the disk of the image `argv[4]` in the store `argv[3]`, with the agent `argv[2]`; says so when it begins.
import { writeSync } from 'node:fs';
import { realClock } from '../../../src/host/clock.ts';
import { realRandom } from '../../../src/host/random.ts';
import { realHost } from '../../../src/host/real-host.ts';
import { makeDisk } from '../../../src/images/disk/store-disk.ts';
import { findStored } from '../../../src/images/image-store.ts';

const [, , agent = '', root = '', name = ''] = process.argv;
const deps = {
  ...{ agent, root, clock: realClock(), random: realRandom(), host: realHost() },
  limits: { maxBytes: 2 ** 32, maxEntries: 1_000_000 },
};
const found = await findStored(root, name, 0);
if (!found) throw new Error('no image');
writeSync(1, 'made\n');
await makeDisk(deps, found.image, new AbortController().signal);
