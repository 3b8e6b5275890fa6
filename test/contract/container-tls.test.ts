// An engine on TCP that wants TLS both ways: sandboxes work there, and whoever is not who it should be is told why.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Provider } from '../../src/providers/provider.ts';
import type { ContainerConfig } from '../../src/schema/config-container.ts';
import { type Certificates, certificates } from '../support/certificates.ts';
import { containerHome, containerSpec } from '../support/hosts/container.ts';
import { type Engine, startEngine } from '../support/hosts/engine.ts';
import { type EnginePort, enginePort } from '../support/hosts/engine-port.ts';
import { freshId, runInside, soon } from '../support/hosts/userspace.ts';
import { removeFolder } from '../support/remove.ts';
import { describeWith } from '../support/requires.ts';

const PORT = 2376;

describeWith(['root', 'docker', 'openssl'], 'an engine behind TLS', () => {
  let folder: string;
  let made: Certificates;
  let engine: Engine;
  let way: EnginePort;
  const open: Provider[] = [];
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'svc-tls-'));
    made = certificates(folder);
    const { ca, server } = made;
    const files = [`--tlscacert=${ca}`, `--tlscert=${server.cert}`, `--tlskey=${server.key}`];
    engine = await startEngine({ args: ['--tlsverify', ...files], hosts: [`tcp://127.0.0.1:${PORT}`] });
    way = await enginePort(engine, PORT);
  }, 120_000);
  afterAll(async () => {
    for (const each of open) await each.close();
    way?.close();
    await engine?.stop();
    removeFolder(folder);
  });

  type Tls = ContainerConfig['tls'];
  const right = (): Tls => ({
    ...{ ca_file: made.ca, cert_file: made.client.cert, key_file: made.client.key, verify: true },
  });
  const provider = (tls: Partial<Tls>, host = `tcp://127.0.0.1:${way.port}`) => {
    const config = { socket: '', host, tls: { ...right(), ...tls } };
    const one = containerHome('').provider(config);
    open.push(one);
    return one;
  };

  it.each(['tcp', 'https'])('runs sandboxes through %s://', async (scheme) => {
    const one = provider({}, `${scheme}://127.0.0.1:${way.port}`);
    expect(await one.probe(soon())).toMatchObject({ healthy: true });
    const id = freshId();
    await one.create(containerSpec(id), soon());
    const io = await one.attach({ id, epoch: 1 }, soon());
    const bytes = Buffer.alloc(1 << 20, 'x');
    await io.files.write('/workspace/file', bytes, {});
    expect((await runInside(io, ['wc', '-c', '/workspace/file'])).stdout).toMatch(/^1048576/);
    io.close();
    // The first session came with the create; this one is an attach of its own.
    const again = await one.attach({ id, epoch: 1 }, soon());
    expect(await runInside(again, ['hostname'])).toMatchObject({ stdout: 'sandbox\n' });
    await one.destroy({ id, epoch: 1 }, soon());
    expect(await one.list(soon())).toEqual([]);
  });

  const none = { cert_file: '', key_file: '' };
  it.each<[string, () => Partial<Tls>, RegExp]>([
    ['an authority that did not sign it', () => ({ ca_file: made.stranger.cert }), /not trusted.*ca_file/],
    ['none but the public authorities', () => ({ ca_file: '' }), /not trusted.*ca_file/],
    ['no certificate of ours', () => none, /requires a client certificate that it trusts.*cert_file/],
    [
      "a stranger's certificate",
      () => ({ cert_file: made.stranger.cert, key_file: made.stranger.key }),
      /requires a client certificate that it trusts.*cert_file/,
    ],
    [
      'a key that is not of the certificate',
      () => ({ key_file: made.stranger.key }),
      /are not usable.*key_file/,
    ],
    ['a file that is not there', () => ({ ca_file: '/nowhere/ca.pem' }), /tls\.ca_file cannot be read/],
  ])('%s: refused with the reason', async (_name, tls, words) => {
    const one = provider(tls());
    const report = await one.probe(soon());
    expect(report).toMatchObject({ healthy: false, message: expect.stringMatching(words) });
    const error = await one.create(containerSpec(freshId()), soon()).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'unavailable', message: expect.not.stringContaining(folder) });
    expect(await engine.api.containers('svc.id')).toEqual([]);
  });

  it('a file that is not a certificate: refused with the reason', async () => {
    const cert_file = join(folder, 'text');
    writeFileSync(cert_file, 'no certificate\n');
    const report = await provider({ cert_file }).probe(soon());
    expect(report).toMatchObject({ healthy: false, message: expect.stringContaining('are not usable') });
  });

  it('a name that is not in its certificate: refused unless verification is off', async () => {
    const host = `tcp://localhost:${way.port}`;
    expect(await provider({}, host).probe(soon())).toMatchObject({
      ...{ healthy: false, message: expect.stringMatching(/another name.*host/) },
    });
    expect(await provider({ verify: false }, host).probe(soon())).toMatchObject({ healthy: true });
  });

  it('reports that the engine requires TLS', async () => {
    const plain = { ca_file: '', cert_file: '', key_file: '' };
    expect(await provider(plain).probe(soon())).toMatchObject({
      ...{ healthy: false, message: expect.stringMatching(/requires TLS.*container\.tls/) },
    });
  });
});
