// Whether the image of spawns that name none is on the engine, and what is said where it is not.
import { expect, it, onTestFinished } from 'vitest';
import { hintAtImage } from '../../../../src/app/image-hint.ts';
import { defaultImageFinding, presentImages } from '../../../../src/providers/container/probe.ts';
import { openState } from '../../../../src/providers/container/state.ts';
import { providerSet } from '../../../../src/providers/registry.ts';
import type { ProviderKind } from '../../../../src/schema/provider.ts';
import { fakeDeps, recordingLogger } from '../../../support/fakes/ports.ts';
import { fakeProvider } from '../../../support/fakes/provider.ts';
import { containerConfig } from '../../../support/hosts/container.ts';
import { scriptedEngine, status } from '../../../support/scripted/engine.ts';

const LOOK = 'GET /images/docker.io/team/app%3A1/json';
const forever = new AbortController().signal;

async function engineWith(look: ReturnType<typeof status>, pull: 'missing' | 'never' = 'missing') {
  const scripted = await scriptedEngine();
  scripted.on(LOOK, look);
  const tags = ['svc-pulled:0123', 'alpine:3.20', 'busybox:latest'];
  scripted.on('GET /images/json', status(200, [{ RepoTags: null }, { RepoTags: tags }]));
  const state = openState({
    ...{ ...fakeDeps(), logger: recordingLogger(), instance: { id: 'i', key: '00' }, packageRoot: '/' },
    host: { uid: 0 },
    config: { ...containerConfig(), socket: scripted.socket, pull },
    defaultImage: 'team/app:1',
  });
  onTestFinished(() => state.engine.close());
  return state;
}
const finding = async (...engine: Parameters<typeof engineWith>) =>
  defaultImageFinding(await engineWith(...engine), forever);

it('lists the names of images on the engine, without its own marks', async () => {
  const state = await engineWith(status(404, {}));
  expect(await presentImages(state, forever)).toEqual(['alpine:3.20', 'busybox:latest']);
});

it('is found, or its absence is reported with the present images', async () => {
  expect(await finding(status(200, { Id: 'sha256:01', Config: {} }))).toMatchObject({
    name: 'image',
    ok: true,
  });
  expect(await finding(status(404, {}))).toEqual({
    name: 'image',
    ok: false,
    message:
      'The default image team/app:1 is not on the engine, and will be pulled by the first sandbox that uses it. Available: alpine:3.20, busybox:latest.',
  });
  expect((await finding(status(404, {}), 'never'))?.message).toContain('and pulling is disabled');
  expect(await finding(status(500, {}))).toBeUndefined();
});

it('is reported at the start, with images that work', async () => {
  const said = async (kinds: ProviderKind[], chosen = 'auto', ok = false) => {
    const logger = recordingLogger();
    const one = fakeProvider(fakeDeps());
    const image = { name: 'image', ok, message: 'It is not there.' };
    const all = kinds.map((kind) => ({
      ...one,
      kind,
      probe: async () => ({ healthy: true, findings: kind === 'container' ? [image] : [] }),
    }));
    await hintAtImage(providerSet(all), chosen, logger, forever);
    return logger.lines.map(({ message }) => message);
  };
  expect(await said(['container', 'userspace'])).toEqual([
    'It is not there. Without a registry: svc sandbox run --provider userspace -- uname -a',
  ]);
  expect(await said(['container'], 'container')).toEqual([expect.stringContaining('--image NAME')]);
  expect(await said(['container', 'userspace'], 'userspace')).toEqual([]);
  expect(await said(['container', 'userspace'], 'auto', true)).toEqual([]);
});
