// The world of the egress rows: a server on another host, which is a network namespace at the other end of a cable. The loopback
// is a target that no sandbox may reach.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAuthority, createLeaf, leafKey } from '../src/egress/certificates.ts';
import { realRandom } from '../src/host/random.ts';
import { withHome } from './folders.ts';
import { type BenchServer, withServer } from './server.ts';

export const PORT = 8080;
/** TLS, for `NAME`. */
export const TLS_PORT = 8443;
export const NAME = 'api.bench.example';
/** Bytes of a transfer. */
export const TRANSFER = 256 * 1024 * 1024;

export interface EgressWorld {
  client: BenchServer['client'];
  /** The address of the other host. */
  target: string;
  /** The certificate of its authority, which the server trusts. */
  caFile: string;
}

const ip = (...args: string[]) => execFileSync('ip', args, { stdio: ['ignore', 'pipe', 'pipe'] });

/** `g` is answered with `ok`, `b` with a transfer, `e` with bytes without an end; anything else is kept open. */
const TARGET = `
require('node:net').createServer({ noDelay: true }, (s) => {
  s.on('error', () => {});
  s.once('data', (d) => {
    const say = String(d);
    if (say === 'g') return s.end('ok');
    let left = say === 'b' ? ${TRANSFER} : say === 'e' ? Infinity : 0;
    const part = Buffer.alloc(65536);
    const go = () => {
      while (left > 0) { left -= part.length; if (!s.write(part)) return; }
      if (say === 'b') s.end();
    };
    s.on('drain', go);
    go();
  });
}).listen(${PORT}, '0.0.0.0', () => console.log('ready'));
require('node:https')
  .createServer({ key: process.env.KEY, cert: process.env.CERT, keepAliveTimeout: 60_000 }, (asked, answer) => {
    if (asked.url === '/last') answer.setHeader('connection', 'close');
    answer.end('ok');
  })
  .listen(${TLS_PORT}, '0.0.0.0');
// Every name is at this address.
const names = require('node:dgram').createSocket('udp4', (question, from) => {
  const end = question.indexOf(0, 12) + 5;
  const isFour = question[end - 3] === 1;
  const head = Buffer.from(question.subarray(0, 12));
  head.writeUInt16BE(0x8580, 2);
  head.writeUInt16BE(isFour ? 1 : 0, 6);
  head.fill(0, 8);
  const answer = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 1, 0, 0, 4, ...process.env.ADDRESS.split('.').map(Number)]);
  names.send(Buffer.concat([head, question.subarray(12, end), ...(isFour ? [answer] : [])]), from.port, from.address);
});
names.bind(53, process.env.ADDRESS);`;

/** Needs root. */
export async function withEgressWorld<T>(root: string, work: (world: EgressWorld) => Promise<T>): Promise<T> {
  const mark = (process.pid % 0xffff).toString(16);
  const [space, cable, net] = [`svcbn${mark}`, `svcbc${mark}`, `10.77.${process.pid % 250}`];
  ip('netns', 'add', space);
  try {
    ip('link', 'add', cable, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', space);
    ip('addr', 'add', `${net}.1/24`, 'dev', cable);
    ip('link', 'set', cable, 'up');
    ip('-n', space, 'addr', 'add', `${net}.2/24`, 'dev', 'eth0');
    ip('-n', space, 'link', 'set', 'eth0', 'up');
    const args = [`--net=/run/netns/${space}`, process.execPath, '-e', TARGET];
    const address = `${net}.2`;
    const { ca, ...tls } = certificates();
    const env = { ...process.env, ...tls, ADDRESS: address };
    const target = spawn('nsenter', args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    await once(target.stdout, 'data');
    try {
      return await withHome((home) => {
        const caFile = join(home, 'ca.pem');
        writeFileSync(caFile, ca);
        const more = { NODE_EXTRA_CA_CERTS: caFile, SVC_EGRESS_RESOLVER: address };
        return withServer(root, { home, env: { ...ENV, ...more } }, ({ client }) =>
          work({ client, target: address, caFile }),
        );
      });
    } finally {
      target.kill('SIGKILL');
    }
  } finally {
    ip('netns', 'del', space);
  }
}

function certificates() {
  const terms = { random: realRandom(), now: Date.now(), lifeMs: 86_400_000 };
  const authority = { name: 'bench', ...createAuthority('bench', terms) };
  const KEY = leafKey();
  return { ca: authority.certificate, KEY, CERT: createLeaf(NAME, authority, KEY, terms) };
}

const ENV = {
  SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare',
  SVC_EGRESS_ALLOW_PRIVATE: '10.77.0.0/16',
  SVC_EGRESS_NEW_CONNECTIONS_PER_MINUTE: '100000',
};
