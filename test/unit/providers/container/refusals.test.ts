// Engines that cannot hold sandboxes, and what is said of them.
import { expect, it } from 'vitest';
import { EngineRefusal } from '../../../../src/providers/container/engine-faults.ts';
import { startFault } from '../../../../src/providers/container/start-faults.ts';
import { containerHome, containerSpec } from '../../../support/hosts/container.ts';
import { freshId, soon } from '../../../support/hosts/userspace.ts';
import { type ScriptedEngine, scriptedEngine, status } from '../../../support/scripted/engine.ts';

const DOCKER = { ServerVersion: '20.10.24', NCPU: 2, Runtimes: { runc: {} }, DefaultRuntime: 'runc' };
const PODMAN = { ...DOCKER, ServerVersion: '4.3.1', BuildahVersion: '1.28.2' };

async function engineOf(info: object): Promise<ScriptedEngine> {
  const engine = await scriptedEngine();
  engine.on('GET /_ping', status(200, {}));
  engine.on('GET /info', status(200, info));
  return engine;
}

it('a Podman service is unhealthy, with the reason', async () => {
  const podman = containerHome((await engineOf(PODMAN)).socket).provider();
  const { healthy, message } = await podman.probe(soon());
  expect([healthy, message]).toEqual([false, expect.stringMatching(/Podman 4\.3\.1 .*standard input/)]);
  const docker = containerHome((await engineOf(DOCKER)).socket).provider();
  expect((await docker.probe(soon())).findings[0]).toMatchObject({ name: 'engine', ok: true });
});

it('a Podman service gets no request for a sandbox', async () => {
  const engine = await engineOf(PODMAN);
  const provider = containerHome(engine.socket).provider();
  const created = provider.create(containerSpec(freshId()), soon());
  await expect(created).rejects.toMatchObject({
    code: 'provider_error',
    message: expect.stringContaining('Podman 4.3.1 is not supported'),
    remedy: expect.stringContaining('Docker Engine'),
  });
  expect(engine.seen.filter((call) => call.startsWith('POST'))).toEqual([]);
});

it('a refused resource limit is named', () => {
  const words =
    'runc create failed: error setting rlimit type 7: operation not permitted: OCI permission denied';
  expect(startFault(new EngineRefusal('start a sandbox', 400, words))).toMatchObject({
    code: 'provider_error',
    message: 'The engine is not allowed to set the resource limits of the sandbox.',
  });
});
