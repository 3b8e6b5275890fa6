// What backends give instead of what was asked for: a warning each, which the service refuses for a strict spawn.
import { expect, it, onTestFinished } from 'vitest';
import { realClock } from '../../src/host/clock.ts';
import { realRandom } from '../../src/host/random.ts';
import { customProvider } from '../../src/providers/custom/custom.ts';
import { hostedProvider } from '../../src/providers/hosted/hosted.ts';
import { silentLogger } from '../support/fakes/ports.ts';
import { freshId, runtimeSpec, soon } from '../support/hosts/userspace.ts';
import { HOSTED_KEY, hostedBackend } from '../support/scripted/hosted-backend.ts';
import { httpAnswer, rawBackend } from '../support/scripted/raw-backend.ts';
import { customConfig } from '../support/servers/custom-backend.ts';

const instance = { id: '00000000-0000-4000-8000-0000000d1ff0' };
const shared = { clock: realClock(), logger: silentLogger, instance };
const WISH = { image: 'team/tool:1', memory_mb: 512, vcpus: 2 };

it.each([
  [{ image: 'other:1' }, ['image: team/tool:1 was requested; the backend gave other:1.']],
  [
    { memory_mb: 64, vcpus: 1 },
    ['memory_mb: 512 were requested; the backend gave 64.', 'vcpus: 2 were requested; the backend gave 1.'],
  ],
  [WISH, []],
  [{}, []],
])('custom: %j', async (given, warnings) => {
  const answer = httpAnswer('200 OK', JSON.stringify({ id: 'a', ...given }), [
    'content-type: application/json',
  ]);
  const backend = await rawBackend((socket) => void socket.end(answer));
  onTestFinished(() => backend.close());
  const provider = customProvider({ ...shared, config: customConfig(backend.url) });
  const created = await provider.create(runtimeSpec(freshId(), WISH), soon());
  expect(created.warnings).toEqual(warnings);
  await provider.close();
});

it('hosted: sizes of the template, and no network to cut off', async () => {
  const backend = await hostedBackend();
  onTestFinished(() => backend.close());
  const provider = hostedProvider({
    ...{ ...shared, random: realRandom() },
    config: {
      ...{ enabled: true, base_url: backend.url, sandbox_url: backend.url, api_key: HOSTED_KEY },
      ...{ template: 'base', timeout: '20s', max_sandboxes: 0 },
    },
  });
  const created = await provider.create(runtimeSpec(freshId(), WISH), soon());
  expect(created).toMatchObject({
    image: 'team/tool:1',
    warnings: [
      'memory_mb: 512 were requested; the template has 128.',
      'vcpus: 2 were requested; the template has 1.',
    ],
  });
  expect(provider.capabilities).not.toContain('network_none');
  await provider.close();
});
