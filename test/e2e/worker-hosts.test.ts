// docs/workers.md as three readers type it: a server and two workers, each a systemd in a network namespace of its own,
// over cables to a bridge, with TLS and certificates for both sides.
import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  type Block,
  blocksOf,
  isCommands,
  printed,
  type Step,
  stepsOf,
} from '../support/checks/document-blocks.ts';
import { type Systemd, startSystemd } from '../support/hosts/systemd.ts';
import { describeWith } from '../support/requires.ts';
import { until } from '../support/until.ts';

const ADDRESSES = { server: '10.0.0.4', 'edge-1': '10.0.0.5', 'edge-2': '10.0.0.6' };
type HostName = keyof typeof ADDRESSES;
const WORKERS = ['edge-1', 'edge-2'] as const;
const MARK = '--- step';
const DEADLINE_MS = 120_000;
const SETUP = 'export PATH=/usr/local/bin:/usr/bin:/usr/sbin';

/** As docs/production.md installs it. */
const INSTALLED = `
  set -e
  rm -rf /etc/svc /var/lib/svc
  ln -sfn /opt/svc "$(npm root -g)/svc"
  ln -sf /opt/svc/bin/svc.js /usr/local/bin/svc
  install -d -m 0750 /etc/svc
  cp /opt/svc/deploy/systemd/*.service /etc/systemd/system/
  install -D -m 0644 /opt/svc/deploy/systemd/svc.sysusers /etc/sysusers.d/svc.conf
  systemd-sysusers
  chown -R svc:svc /etc/svc
  echo '${ADDRESSES.server} svc.internal' >> /etc/hosts
  systemctl daemon-reload
`;

/** Sandboxes without an engine, and previews. */
const SERVING = `
  set -e
  svc config init --production --output /etc/svc/svc.yaml
  chown -R svc:svc /etc/svc
  mkdir -p /etc/systemd/system/svc.service.d
  cat > /etc/systemd/system/svc.service.d/test.conf <<'END'
[Service]
Environment=SVC_PROVIDERS_DEFAULT=userspace SVC_PROVIDERS_USERSPACE_ENABLED=true
Environment=SVC_SERVER_PREVIEW_DOMAIN=preview.internal
END
  systemctl daemon-reload
  systemctl enable --now svc.service
`;

const BLOCKS = blocksOf('docs/workers.md').filter(isCommands);
/** Where the certificate and the secret of a worker are made: typed for each of them. */
const isForEach = ({ host, text }: Block) => host === 'server' && text.includes('edge-1.csr');

function isOfServer({ host, notRun, text }: Block): boolean {
  const isSigningKey = host === undefined && notRun === undefined && text.includes('openssl rand');
  return host === 'server' || isSigningKey;
}

describeWith(
  ['root', 'systemd', 'bwrap', 'openssl', 'caddy', 'python3'],
  'docs/workers.md on three hosts',
  () => {
    const hosts = {} as Record<HostName, Systemd>;
    const svc = (command: string) =>
      hosts.server.sure(`${SETUP}; export SVC_API_KEY="$(cat /etc/svc/svc.admin_api_key)"; svc ${command}`);
    const workerOf: Record<string, string> = {};

    beforeAll(async () => {
      for (const name of Object.keys(ADDRESSES) as HostName[]) hosts[name] = await startSystemd();
      connect(hosts);
      for (const [name, host] of Object.entries(hosts)) await host.sure(`hostname ${name}; ${INSTALLED}`);
      await hosts.server.sure(SERVING);
    }, 180_000);
    afterAll(async () => {
      await Promise.all(Object.values(hosts).map((host) => host.stop()));
    });

    it('is followed on the server up to the files for the workers', async () => {
      const last = BLOCKS.findIndex(isForEach);
      const blocks = BLOCKS.slice(0, last + 1).filter(isOfServer);
      expect(blocks).toHaveLength(4);
      for (const block of blocks) await follow(hosts.server, block);
      await follow(hosts.server, forSecond(blocks.at(-1)));
    });

    it('is followed on each worker', async () => {
      const [block, ...more] = BLOCKS.filter(({ host }) => host === 'edge-1');
      expect(more).toEqual([]);
      for (const name of WORKERS) {
        await copyFiles(hosts.server, hosts[name], name);
        await follow(hosts[name], name === 'edge-1' ? block : forSecond(block));
      }
      await until('both workers are online', async () => {
        const list = await svc('worker list');
        return WORKERS.every((name) => new RegExp(`^${name} +online`, 'm').test(list));
      });
      for (const name of WORKERS) {
        const journal = await hosts[name].sure('journalctl -u svc-worker --no-pager');
        expect(journal).toContain(
          `accepts calls at https://${ADDRESSES[name]}:7424 and reports to https://svc.internal`,
        );
        expect(journal).not.toContain('without TLS');
      }
    });

    it('is followed with the admin key, and sandboxes run on workers', async () => {
      const blocks = BLOCKS.slice(BLOCKS.findIndex(isForEach) + 1).filter(isOfServer);
      expect(blocks).toHaveLength(1);
      for (const block of blocks) await follow(hosts.server, block);
      for (let n = 0; n < 2; n++) {
        const { id, worker_id } = JSON.parse(await svc('sandbox create --ttl 20m --json'));
        workerOf[worker_id] = id;
      }
      expect(Object.keys(workerOf).sort()).toEqual([...WORKERS]);
    });

    it.each(WORKERS)('runs commands, copies files and shows a port on %s', async (name) => {
      const id = workerOf[name];
      expect(await svc(`sandbox exec ${id} -- sh -c 'echo $((6 * 7))'`)).toBe('42\n');
      await hosts.server.sure('head -c 3000000 /dev/urandom > /tmp/there');
      await svc(`sandbox cp /tmp/there ${id}:/workspace/file`);
      await svc(`sandbox cp ${id}:/workspace/file /tmp/back`);
      await hosts.server.sure('cmp /tmp/there /tmp/back && rm /tmp/there /tmp/back');
      await svc(
        `sandbox exec --detach ${id} -- sh -c 'echo from-${name} > index.html; exec python3 -m http.server 8123'`,
      );
      const { url } = JSON.parse(await svc(`sandbox preview ${id} 8123 --json`));
      const visit = `curl -sL -c /tmp/jar -b /tmp/jar --connect-to ::127.0.0.1:7423 '${url}'`;
      await until('the page', async () => (await hosts.server.run(visit)).stdout === `from-${name}\n`);
    });

    it('lets nobody call a worker without a certificate of the authority', async () => {
      const port = `${ADDRESSES['edge-1']}:7424`;
      const own = '--cert /etc/svc/server.pem --key /etc/svc/server.key';
      const code = async (more: string) =>
        (await hosts.server.run(`curl -s -o /dev/null -w '%{http_code}' ${more}`)).stdout;
      expect(await code(`http://${port}/rpc`)).toBe('000');
      expect(await code(`--cacert /etc/svc/ca.pem https://${port}/rpc`)).toBe('000');
      expect(await code(`--cacert /etc/svc/ca.pem ${own} https://${port}/rpc`)).toBe('405');
    });

    it('keeps new sandboxes from a worker that drains, and those that it has running', async () => {
      await svc('worker drain edge-1');
      for (let n = 0; n < 2; n++)
        expect(JSON.parse(await svc('sandbox create --ttl 5m --json'))).toMatchObject({
          worker_id: 'edge-2',
        });
      expect(await svc(`sandbox exec ${workerOf['edge-1']} -- echo still here`)).toBe('still here\n');
    });

    it('warns of a worker that others can call without TLS', async () => {
      const env = 'SVC_DATABASE_PATH=/tmp/second/svc.db SVC_AUTH_WORKER_TOKEN=$(cat /etc/svc/edge-2.token)';
      const start = `${env} timeout 10 svc worker --control-plane https://svc.internal 2>&1`;
      await hosts['edge-2'].sure('systemctl stop svc-worker');
      const { stdout } = await hosts['edge-2'].run(`${SETUP}; ${start}`);
      expect(stdout).toContain('accepts calls from other machines without TLS');
      expect(stdout).toContain(
        `accepts calls at http://${ADDRESSES['edge-2']}:7424 and reports to https://svc.internal`,
      );
    });
  },
);

/** Cables from the workers to a bridge at the server. */
function connect(hosts: Record<HostName, Systemd>): void {
  const ip = (name: HostName, ...args: string[]) =>
    execFileSync('nsenter', ['--target', hosts[name].init, '--net', 'ip', ...args], { stdio: 'pipe' });
  for (const name of Object.keys(hosts) as HostName[]) ip(name, 'link', 'set', 'lo', 'up');
  ip('server', 'link', 'add', 'bridge', 'type', 'bridge');
  ip('server', 'addr', 'add', `${ADDRESSES.server}/24`, 'dev', 'bridge');
  ip('server', 'link', 'set', 'bridge', 'up');
  for (const name of WORKERS) {
    ip('server', 'link', 'add', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', hosts[name].init);
    ip('server', 'link', 'set', name, 'master', 'bridge', 'up');
    ip(name, 'addr', 'add', `${ADDRESSES[name]}/24`, 'dev', 'eth0');
    ip(name, 'link', 'set', 'eth0', 'up');
  }
}

/** "Do the same for edge-2 with its name and address." */
function forSecond(block: Block | undefined): Block | undefined {
  const text = block?.text
    .replaceAll('edge-1', 'edge-2')
    .replaceAll(ADDRESSES['edge-1'], ADDRESSES['edge-2']);
  return block && { ...block, text: text ?? '' };
}

/** "Copy … to /etc/svc on the worker." */
async function copyFiles(from: Systemd, to: Systemd, name: string): Promise<void> {
  const files = [`${name}.pem`, `${name}.key`, `${name}.token`, 'ca.pem'];
  const archive = (await from.sure(`cd /root/workers && tar -c ${files.join(' ')} | base64 -w0`)).trim();
  await to.sure(`echo ${archive} | base64 -d | tar -x -C /etc/svc`);
}

/** Types a block; each command has to succeed, and to print what stands below it. */
async function follow(host: Systemd, block: Block | undefined): Promise<void> {
  if (!block) throw new Error('the document has no such block');
  const steps: Step[] = stepsOf(block);
  const script = [
    'set -e',
    SETUP,
    ...steps.flatMap(({ command }, at) => [`echo '${MARK} ${at}'`, typed(command)]),
  ];
  await host.sure(`cat >/tmp/steps <<'END_OF_THE_STEPS'\n${script.join('\n')}\nEND_OF_THE_STEPS`);
  const { code, stdout, stderr } = await host.run('cd /root && bash /tmp/steps </dev/null', DEADLINE_MS);
  const outputs = stdout.split(new RegExp(`${MARK} \\d+\\n`)).slice(1);
  const last = steps[outputs.length - 1];
  if (code !== 0)
    throw new Error(`${last?.place}: ${last?.command}: exit code ${code}\n${outputs.at(-1)}${stderr}`);
  for (const [at, { command, prints, place }] of steps.entries())
    if (prints.length > 0) expect(outputs[at], `${place} ${command}`).toMatch(printed(prints));
}

/** As typed; a proxy that stays keeps no pipe of the test open, which would wait for its end. */
const typed = (command: string): string =>
  command.startsWith('caddy start') ? `${command} >/tmp/caddy 2>&1` : command;
