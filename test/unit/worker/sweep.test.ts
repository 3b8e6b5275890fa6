// What a worker says of a provider that cannot list: nothing, where the provider may just not be on this host.
import { expect, it } from 'vitest';
import { sweep } from '../../../src/worker/sweep.ts';
import { recordingLogger } from '../../support/fakes/ports.ts';
import { workerFixture } from '../../support/servers/worker-fixture.ts';

it('warns of a provider that does not list only while something of it is held', async () => {
  const { parts, provider, spawn } = await workerFixture();
  const logger = recordingLogger();
  provider.list = () => Promise.reject(new Error('no engine'));
  await sweep({ ...parts, logger });
  expect(logger.lines.map(({ level }) => level)).toEqual(['debug']);
  await spawn('sb-aaaaaaaaaaaa');
  await sweep({ ...parts, logger });
  expect(logger.lines.map(({ level }) => level)).toEqual(['debug', 'warn']);
});
