// Which failed creates say that nothing was begun: those that never left this host, and those refused for their key. What
// broke off on the way says nothing.
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { NotStarted } from '../../../src/domain/not-started.ts';
import { realClock } from '../../../src/host/clock.ts';
import { realRandom } from '../../../src/host/random.ts';
import { createRuntime } from '../../../src/providers/container/create.ts';
import { openEngine } from '../../../src/providers/container/engine.ts';
import type { ContainerState } from '../../../src/providers/container/state.ts';
import { customProvider } from '../../../src/providers/custom/custom.ts';
import { guard } from '../../../src/providers/guard.ts';
import { hostedProvider } from '../../../src/providers/hosted/hosted.ts';
import type { Provider } from '../../../src/providers/provider.ts';
import { remoteProviders } from '../../../src/providers/remote/remote-providers.ts';
import { fakeDeps, silentLogger } from '../../support/fakes/ports.ts';
import { freePort } from '../../support/free-port.ts';
import { containerConfig, containerHome, containerSpec } from '../../support/hosts/container.ts';
import { freshId, runtimeSpec, soon } from '../../support/hosts/userspace.ts';
import { reset, scriptedEngine, status } from '../../support/scripted/engine.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const LEASE = {
  ...{ resource_id: 'sb-1', holder_id: 'w1', generation: 1, expires_at: '2026-01-02T03:05:05.000Z' },
  signature: 's'.repeat(43),
};

/** What its create failed with, seen through the guard. */
async function failureOf(provider: Provider): Promise<unknown> {
  const guarded = guard(provider, { clock: realClock(), logger: silentLogger });
  const created = guarded.create(runtimeSpec(freshId(), { image: 'i', lease: LEASE }), soon());
  return created.then(
    () => undefined,
    (error: unknown) => error,
  );
}

async function answering(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const deps = () => ({
  clock: realClock(),
  random: realRandom(),
  logger: silentLogger,
  instance: { id: 'i', key: 'ab'.repeat(32) },
});
const BACKENDS: Record<string, (url: string) => Provider> = {
  custom: (base_url) =>
    customProvider({
      ...deps(),
      config: {
        ...{ enabled: true, name: 'custom', base_url, api_key: 'k', timeout: '5s' },
        max_sandboxes: 0,
      },
    }),
  hosted: (url) =>
    hostedProvider({
      ...deps(),
      config: {
        ...{ enabled: true, base_url: url, sandbox_url: url, api_key: 'k', template: 'base' },
        ...{ timeout: '5s', max_sandboxes: 0 },
      },
    }),
  worker: (rpc_url) =>
    remoteProviders({ ...fakeDeps(), clock: realClock(), allowLoopback: true }).of(
      { id: 'w1', rpc_url, secret: 's'.repeat(32) },
      'userspace',
    ),
};

describe.each(Object.entries(BACKENDS))('%s', (name, providerAt) => {
  it('throws NotStarted where nobody listens', async () => {
    const provider = providerAt(`http://127.0.0.1:${await freePort()}`);
    onTestFinished(() => provider.close());
    const error = await failureOf(provider);
    expect(error).toBeInstanceOf(NotStarted);
    expect(error).toMatchObject({ code: 'unavailable', remedy: expect.any(String) });
  });

  it('does not throw NotStarted for a request that broke off', async () => {
    const url = await answering((req, res) => {
      if (req.method === 'POST') res.destroy();
      else res.setHeader('content-type', 'application/json').end('[]');
    });
    const provider = providerAt(url);
    onTestFinished(() => provider.close());
    const error = await failureOf(provider);
    expect(error).toMatchObject({ code: expect.any(String) });
    expect(error).not.toBeInstanceOf(NotStarted);
  });

  // A worker says by the code of its answer what it has refused.
  if (name === 'worker') return;
  it('throws NotStarted where its key is refused', async () => {
    const url = await answering((_req, res) => {
      res.writeHead(401, { 'content-type': 'application/json' }).end('{"code":401,"message":"no"}');
    });
    const provider = providerAt(url);
    onTestFinished(() => provider.close());
    expect(await failureOf(provider)).toBeInstanceOf(NotStarted);
  });
});

describe('container', () => {
  const docker = { ServerVersion: '20.10.24', NCPU: 2, Runtimes: { runc: {} }, DefaultRuntime: 'runc' };

  it('throws NotStarted without an engine', async () => {
    const provider = containerHome(`${temporaryFolder()}/none.sock`).provider();
    expect(await failureOf(provider)).toBeInstanceOf(NotStarted);
  });

  it('throws NotStarted when the engine fails before the create', async () => {
    const engine = await scriptedEngine();
    engine.on('GET /_ping', status(200, {}));
    engine.on('GET /info', status(200, { ...docker, BuildahVersion: '1', ServerVersion: '4.3.1' }));
    expect(await failureOf(containerHome(engine.socket).provider())).toBeInstanceOf(NotStarted);
  });

  it.each([
    ['throws NotStarted for an engine that has stopped', undefined, true],
    ['does not throw NotStarted for a create whose answer broke off', reset, false],
  ] as const)('%s', async (_name, answer, isCertain) => {
    const engine = await scriptedEngine();
    if (answer) engine.on('POST /containers/create', answer);
    const config = { ...containerConfig(), socket: answer ? engine.socket : `${engine.socket}.gone` };
    const state = {
      ...{ ...deps(), config, startMs: 5000 },
      engine: openEngine({ config, clock: realClock() }),
      facts: { read: async () => ({ cpus: 2, limits: {}, default_runtime: 'runc' }) },
      images: { ready: async () => ({ id: 'sha256:1', user: '', volumes: [] }) },
      agent: async () => 'agent',
      network: { ready: async () => 'svc' },
      links: { open: async () => undefined, remove: async () => undefined },
      starts: { run: (work: () => Promise<unknown>) => work() },
    } as unknown as ContainerState;
    onTestFinished(() => state.engine.close());
    const failed = createRuntime(state, containerSpec('sb-1'), soon());
    const error = await failed.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'unavailable' });
    expect(error instanceof NotStarted).toBe(isCertain);
  });
});
