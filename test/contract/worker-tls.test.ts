// A worker towards a control plane behind TLS that demands a certificate, over real connections: what it shows, and that it
// takes over new certificates and a new credential from their files without a restart.
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { expect, it, onTestFinished } from 'vitest';
import { openWorker, type WorkerProcessDeps } from '../../src/app/worker.ts';
import { loadConfig } from '../../src/config/load.ts';
import { isTokenSignedWith, parseWorkerToken } from '../../src/domain/worker-token.ts';
import { realClock } from '../../src/host/clock.ts';
import { realIds } from '../../src/host/ids.ts';
import { realRandom } from '../../src/host/random.ts';
import { realHost } from '../../src/host/real-host.ts';
import { type Certificates, certificates, type Pair } from '../support/certificates.ts';
import { type LogLine, recordingLogger } from '../support/fakes/ports.ts';
import { packageRoot } from '../support/servers/server.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { until } from '../support/until.ts';

const SECRETS = [
  'the first secret of w1, not to be told',
  'the second secret of w1, not to be told',
] as const;

interface Heard {
  /** Common name of the certificate. */
  from: string;
  token: string;
}

/** A proxy that ends TLS and lets in who has a certificate of the authority; what it heard, the newest last. */
async function front({ ca, server }: Certificates): Promise<{ url: string; heard: Heard[] }> {
  const heard: Heard[] = [];
  const [cert, key] = [readFileSync(server.cert), readFileSync(server.key)];
  const options = { cert, key, ca: readFileSync(ca), requestCert: true, rejectUnauthorized: true };
  const listening: Server = createServer(options, (request, answer) => {
    const { subject } = (request.socket as TLSSocket).getPeerCertificate();
    heard.push({ from: String(subject.CN), token: String(request.headers['x-worker-token']) });
    request.resume().once('end', () => {
      answer.setHeader('content-type', 'application/json');
      answer.end(JSON.stringify({ id: 'w1', status: 'online', drain: false }));
    });
  });
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    listening.closeAllConnections();
    listening.close();
  });
  return { url: `https://127.0.0.1:${(listening.address() as AddressInfo).port}`, heard };
}

function scene(made: Certificates, url: string) {
  const folder = temporaryFolder();
  const [cert_file, key_file, token] = ['own.pem', 'own.key', 'token'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const show = (pair: Pair) => {
    copyFileSync(pair.cert, cert_file);
    copyFileSync(pair.key, key_file);
  };
  const prove = (secret: string) => writeFileSync(token, `${secret}\n`, { mode: 0o600 });
  const file = join(folder, 'worker.yaml');
  const configure = (tls: object) =>
    writeFileSync(
      file,
      JSON.stringify({
        auth: { worker_token_file: token },
        database: { path: join(folder, 'svc.db') },
        worker: {
          ...{ id: 'w1', control_plane_url: url, heartbeat_interval: '1s', tls },
          ...{ listen_addr: '127.0.0.1:0', allow_loopback_rpc: true },
        },
        providers: { userspace: { enabled: false }, container: { enabled: false } },
      }),
      { mode: 0o600 },
    );
  configure({ ca_file: made.ca, cert_file, key_file });
  const read = () =>
    loadConfig({ file, env: {}, cwd: folder, home: folder, uid: process.getuid?.() ?? -1, isTerminal: false })
      .config;
  const open = async () => {
    const [clock, random] = [realClock(), realRandom()];
    const lines: LogLine[] = [];
    const logger = recordingLogger(lines);
    const deps: WorkerProcessDeps = {
      ...{ config: read(), reread: read, host: realHost(), clock, random, ids: realIds(random), logger },
      ...{ version: '0.0.0', packageRoot, conceal: () => undefined, concealed: () => () => undefined },
    };
    const worker = await openWorker(deps);
    onTestFinished(() => worker.close(0));
    const said = (words: string) => lines.some(({ message }) => message.includes(words));
    const refused = () => lines.filter(({ message }) => message.includes('keeping the old one'));
    return { worker, said, refused };
  };
  return { show, prove, configure, open, cert_file };
}

const signedBy = (secret: string, { token }: Heard) => {
  const parsed = parseWorkerToken(token);
  return parsed !== undefined && isTokenSignedWith(secret, parsed);
};

/** Who answers there. */
const answering = (url: string | undefined, pair: Pair, ca: string) =>
  new Promise<string>((resolve, reject) => {
    const { hostname, port } = new URL(url ?? '');
    const own = { cert: readFileSync(pair.cert), key: readFileSync(pair.key), ca: readFileSync(ca) };
    const socket = connect({
      host: hostname,
      port: Number(port),
      ...own,
      checkServerIdentity: () => undefined,
    });
    socket.once('secureConnect', () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.destroy();
    });
    socket.once('error', reject);
  });

it('a worker shows its certificate, and takes over the next one and the next credential', async () => {
  const made = certificates(temporaryFolder());
  const { url, heard } = await front(made);
  const { show, prove, open, cert_file } = scene(made, url);
  const [first, second] = [made.sign('first'), made.sign('second')];
  show(first);
  prove(SECRETS[0]);
  const { worker, said, refused } = await open();
  const newest = () => heard.at(-1) as Heard;
  await until('it is heard', () => heard.length > 0, 60_000);
  expect([newest().from, signedBy(SECRETS[0], newest())]).toEqual(['first', true]);
  expect(await answering(worker.rpcUrl, made.client, made.ca)).toBe('first');

  // Half of a change is none.
  copyFileSync(second.cert, cert_file);
  await until('it says so', () => said('keeping the old one'), 60_000);
  const count = heard.length;
  await until('it goes on', () => heard.length > count + 1, 60_000);
  expect(newest().from).toBe('first');

  show(second);
  await until('the next certificate is shown', () => newest().from === 'second', 60_000);
  expect(await answering(worker.rpcUrl, made.client, made.ca)).toBe('second');
  prove(SECRETS[1]);
  await until('the next credential is used', () => signedBy(SECRETS[1], newest()), 60_000);

  // A token that somebody signed is enough to call, not to be called.
  const refusals = () => refused().length;
  const before = refusals();
  prove(newest().token);
  await until('it says so', () => refusals() > before, 60_000);
  const seen = newest().token;
  await until('it goes on', () => newest().token !== seen, 60_000);
  expect(signedBy(SECRETS[1], newest())).toBe(true);
});

it('a worker without a certificate of the authority is not heard', async () => {
  const made = certificates(temporaryFolder());
  const { url, heard } = await front(made);
  const { show, prove, open, configure } = scene(made, url);
  prove(SECRETS[0]);
  show(made.stranger);
  const { said } = await open();
  await until('it says so', () => said('Heartbeat failed'), 60_000);
  configure({ ca_file: made.ca });
  await until('it says so again', () => said('using the new one'), 60_000);
  expect(heard).toEqual([]);
});
