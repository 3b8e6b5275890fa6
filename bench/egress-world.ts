// The world of the egress rows: a server on another host, which is a network namespace at the other end of a cable. The loopback
// is a target that no sandbox may reach.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { withHome } from './folders.ts';
import { type BenchServer, withServer } from './server.ts';

export const PORT = 8080;
/** Bytes of a transfer. */
export const TRANSFER = 256 * 1024 * 1024;

export interface EgressWorld {
  client: BenchServer['client'];
  /** The address of the other host. */
  target: string;
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
}).listen(${PORT}, '0.0.0.0', () => console.log('ready'));`;

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
    const target = spawn('nsenter', args, { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(target.stdout, 'data');
    try {
      return await withHome((home) =>
        withServer(root, { home, env: ENV }, (server) => work({ client: server.client, target: `${net}.2` })),
      );
    } finally {
      target.kill('SIGKILL');
    }
  } finally {
    ip('netns', 'del', space);
  }
}

const ENV = {
  SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare',
  SVC_EGRESS_ALLOW_PRIVATE: '10.77.0.0/16',
  SVC_EGRESS_NEW_CONNECTIONS_PER_MINUTE: '100000',
};
