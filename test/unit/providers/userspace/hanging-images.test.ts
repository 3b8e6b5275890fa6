// An image store on a mount that hangs: spawns with an image fail in time, and no call reads the store outside its turn.
import { expect, it } from 'vitest';
import { ServiceError } from '../../../../src/domain/errors.ts';
import { ImagePulls, type PullsDeps } from '../../../../src/images/registry/pulls.ts';
import { chooseImage, imageState, readyImage } from '../../../../src/providers/userspace/image.ts';
import { testConfig } from '../../../support/config.ts';
import { fakeDeps } from '../../../support/fakes/ports.ts';
import { temporaryFolder } from '../../../support/temporary.ts';

const HANGS = new ServiceError('unavailable', 'A folder did not answer.');
const SPEC = { image: 'alpine:3', image_policy: 'missing' } as const;
const { signal } = new AbortController();

/** Counts the turns that reads of the store take; each ends as with a mount that hangs. */
function setUp() {
  const { clock } = fakeDeps();
  const root = temporaryFolder();
  const turns = { count: 0 };
  const slowly = async () => {
    turns.count++;
    throw HANGS;
  };
  const store = { root, clock } as unknown as PullsDeps['store'];
  const pulls = new ImagePulls({ store, policy: 'missing', spawnWaitMs: 1000 } as PullsDeps);
  const config = testConfig().providers.userspace;
  return { turns, state: { config, imageStore: { path: root }, slowly, clock, host: { uid: 0 }, pulls } };
}

type State = Parameters<typeof readyImage>[0];

it.each([
  ['choosing an image', (state: State) => chooseImage(state, SPEC)],
  ['readying an image', (state: State) => readyImage(state, SPEC, signal)],
  ['reading the state of an image', (state: State) => imageState(state, SPEC)],
])('%s fails when the store hangs', async (_, ask) => {
  const { state, turns } = setUp();
  await expect(ask(state as unknown as State)).rejects.toBe(HANGS);
  expect(turns.count).toBe(1);
});
