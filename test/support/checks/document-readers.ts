// Who follows which document, and what lies ready where the document takes it for granted. The order is a reader's: what
// is done on an installed host comes after docs/production.md, which installs it.
import { packagesOf } from '../hosts/package-tar.ts';

export interface Reader {
  document: string;
  /** `checkout`: an ordinary user in a clone. `host`: root on the host of docs/production.md. */
  where: 'checkout' | 'host';
  /** Only the lines that begin so; another reader follows the rest. */
  prompt?: '$' | '#';
  /** Run by root before the document. */
  before?: string;
}

const SERVER = 'http://127.0.0.1:7423';
const answers = (server: string) => `curl -sf -o /dev/null ${server}/api/v1/live`;

/** A server of the ordinary user that has run one sandbox. */
const SERVING = `
  setsid runuser -u ann -- env HOME=/home/ann XDG_RUNTIME_DIR=/run/user/1234 \
    svc serve >/tmp/serving.log 2>&1 </dev/null &
  until ${answers(SERVER)}; do sleep 0.2; done
  svc sandbox run -- true
`;

/** A project of Vite with its packages. */
const VITE = `
  cp -r /opt/svc/test/support/servers/vite-app /home/ann/svc/app
  mkdir -p /home/ann/svc/app/node_modules
  cd /opt/svc/node_modules && cp -r --parents ${packagesOf('vite').join(' ')} /home/ann/svc/app/node_modules
  chown -R ann /home/ann/svc/app
`;

/** For the names of docs/proxies.md. */
const CERTIFICATE = `
  mkdir -p /etc/ssl/svc && cd /etc/ssl/svc
  openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=svc -keyout privkey.pem -out fullchain.pem \
    -addext 'subjectAltName=DNS:svc.example.org,DNS:*.show.example.org'
`;

/** A configuration that lint has nothing against, in two places. */
const JUDGED = `
  cd /root && svc config init --production --output svc.yaml
  mkdir deploy && cp svc.* deploy
`;

/** A host without the service; the configuration of docs/microvm.md, and an image in the place of the one that is pulled. */
const GUESTS = `
  systemctl stop svc && rm -rf /run/svc
  cd /root && mkdir -p rootfs/bin rootfs/proc rootfs/dev rootfs/tmp
  cp /bin/busybox rootfs/bin && for name in sh uname; do ln -s busybox rootfs/bin/$name; done
  printf 'providers:\\n  default: microvm\\n  container: {enabled: false}\\n  microvm: {enabled: true, max_memory_mb: 2048}\\n' >svc.yaml
  svc image build debian:12 --from-dir rootfs
`;

export const READERS: readonly Reader[] = [
  { document: 'README.md', where: 'checkout' },
  { document: 'docs/quick-start.md', where: 'checkout' },
  { document: 'docs/previews.md', where: 'checkout', before: VITE },
  { document: 'docs/network.md', where: 'checkout', before: SERVING },
  { document: 'docs/e2b.md', where: 'checkout', before: SERVING },
  { document: 'docs/custom-provider.md', where: 'checkout' },
  { document: 'docs/e2b.md', where: 'checkout' },
  { document: 'docs/events.md', where: 'checkout', before: SERVING },
  { document: 'docs/doctor.md', where: 'checkout' },
  { document: 'docs/images.md', where: 'checkout', before: SERVING },
  { document: 'docs/workers.md', where: 'checkout', prompt: '$' },
  { document: 'docs/production.md', where: 'host' },
  { document: 'docs/workers.md', where: 'host', prompt: '#' },
  {
    document: 'docs/operations.md',
    where: 'host',
    before: 'cd /root && svc support bundle before.json && svc support bundle after.json',
  },
  { document: 'docs/proxies.md', where: 'host', before: CERTIFICATE },
  { document: 'docs/config-lint.md', where: 'host', before: JUDGED },
  { document: 'docs/microvm.md', where: 'host', before: GUESTS },
];

/** Also those of which no block can be run. */
export const FOLLOWED = [...READERS.map(({ document }) => document), 'proof/README.md'];

/** Blocks for several hosts (test/e2e/worker-hosts.test.ts). */
export const FOLLOWED_ON_HOSTS = ['docs/workers.md'];

/** Programs that keep the terminal, and how a reader sees that they are ready. */
export const STAYING: readonly { command: RegExp; ready: string }[] = [
  { command: /^(\S+=\S+ )*(npm start|svc serve( --\S+ \S+)*)$/, ready: answers(SERVER) },
  { command: /^svc worker$/, ready: 'svc worker list | grep -v ^local | grep -q online' },
  { command: /\bcaddy run\b/, ready: 'curl -s -o /dev/null http://127.0.0.1:2019/config/' },
];
