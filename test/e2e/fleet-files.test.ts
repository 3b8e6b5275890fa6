// The files of deploy/fleet: the real balancer before real servers over one database, and names that exist.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { CONFIG_KEYS, SECRET_FILE_SUFFIX } from '../../src/schema/config-keys.ts';
import { freePort } from '../support/free-port.ts';
import { debianLibraries, debianProgram } from '../support/hosts/debian-program.ts';
import { describeWith } from '../support/requires.ts';
import { type Api, api } from '../support/servers/api.ts';
import { packageRoot, removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { until } from '../support/until.ts';

const FLEET = join(packageRoot, 'deploy/fleet');
const env = {
  SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare',
  SVC_PROVIDERS_DEFAULT: 'auto',
  SVC_SERVER_HOST: '127.0.0.1',
};

it('the Compose file names only variables of the configuration, and files that exist', () => {
  const text = readFileSync(join(FLEET, 'compose.yaml'), 'utf8');
  interface Service {
    environment?: Record<string, string>;
    secrets?: string[];
  }
  const { services, secrets } = parse(text, { merge: true }) as {
    services: Record<string, Service>;
    secrets: Record<string, object>;
  };
  const known = CONFIG_KEYS.flatMap(({ env: name, secret }) =>
    secret ? [name, `${name}${SECRET_FILE_SUFFIX.toUpperCase()}`] : [name],
  );
  for (const name of ['svc-1', 'svc-2', 'worker'])
    for (const variable of Object.keys(services[name]?.environment ?? {})) expect(known).toContain(variable);
  for (const { secrets: used = [] } of Object.values(services))
    for (const name of used) expect(Object.keys(secrets)).toContain(name);
  const balancer = readFileSync(join(FLEET, 'haproxy.cfg'), 'utf8');
  for (const variable of Object.keys(services.balancer?.environment ?? {}))
    expect(balancer).toContain(variable);
});

describeWith(['systemd-analyze'], 'the drop-in for a server over PostgreSQL', () => {
  it('holds only directives that systemd knows', () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'svc.service.d'));
    copyFileSync(join(packageRoot, 'deploy/systemd/svc.service'), join(folder, 'svc.service'));
    copyFileSync(join(FLEET, 'svc.service.d/fleet.conf'), join(folder, 'svc.service.d/fleet.conf'));
    const { stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', join(folder, 'svc.service')], {
      encoding: 'utf8',
    });
    expect(stderr.split('\n').filter((line) => /svc\.service|fleet\.conf/.test(line))).toEqual([]);
  });
});

describeWith(['postgres', 'haproxy', 'caddy', 'root', 'unshare'], 'the balancers of deploy/fleet', () => {
  let server: TestServer;
  let servers: Record<string, string>;
  const ends: (() => Promise<unknown>)[] = [];
  beforeAll(async () => {
    server = await startServer({ database: 'fleet', env });
    const hosts = (server.replicas ?? []).map(({ url }) => new URL(url).host);
    servers = { SVC_FLEET_1: hosts[0]!, SVC_FLEET_2: hosts[1]!, SVC_FLEET_3: hosts[2]! };
  });
  afterAll(async () => {
    for (const end of ends) await end();
    await server.stop();
    removeHome(server.home);
  });
  function start(command: string, args: readonly string[], more: Record<string, string | undefined>): void {
    const child = spawn(command, args, {
      env: { PATH: process.env.PATH, ...servers, ...more },
      stdio: 'ignore',
    });
    const ended = once(child, 'exit');
    ends.push(async () => {
      child.kill('SIGKILL');
      await ended;
    });
  }

  /** An API that answers. */
  async function answering(name: string, port: number): Promise<Api> {
    const client = api(`http://127.0.0.1:${port}`);
    const live = () =>
      client.call('GET', '/live').then(
        ({ status, body }) => status === 200 && body !== null,
        () => false,
      );
    await until(`${name} answers`, live);
    return client;
  }

  async function useOnce(client: Api): Promise<string> {
    const { id } = await client.spawn();
    expect((await client.sh(id, 'echo $((6 * 7))')).stdout).toBe('42\n');
    return id;
  }

  it('Caddy accepts its file and spreads requests over servers that answer', async () => {
    const port = await freePort();
    const file = join(temporaryFolder(), 'Caddyfile');
    writeFileSync(file, `{\n\tadmin off\n}\nimport ${join(FLEET, 'Caddyfile')}\n`);
    const own = {
      SVC_FLEET_SITE: `http://127.0.0.1:${port}`,
      // One server is not there.
      SVC_FLEET_3: '127.0.0.1:1',
      HOME: server.home,
    };
    start('caddy', ['run', '--config', file, '--adapter', 'caddyfile'], own);
    const client = await answering('Caddy', port);
    const id = await useOnce(client);
    for (let n = 0; n < 20; n++) expect((await client.call('GET', `/sandboxes/${id}`)).status).toBe(200);
    await client.destroy(id);
  });

  it('HAProxy accepts its file and spreads requests; a killed server costs no call that can be repeated', async () => {
    const command = debianProgram('haproxy', ['haproxy'])!;
    const port = await freePort();
    const file = join(FLEET, 'haproxy.cfg');
    const own = { SVC_FLEET_BIND: `127.0.0.1:${port}`, ...debianLibraries('haproxy') };
    const checked = { env: { PATH: process.env.PATH, ...servers, ...own }, encoding: 'utf8' as const };
    expect(spawnSync(command, ['-c', '-f', file], checked)).toMatchObject({ status: 0 });
    start(command, ['-db', '-f', file], own);
    const client = await answering('HAProxy', port);
    const id = await useOnce(client);
    const third = server.replicas?.[2];
    third?.child.kill('SIGKILL');
    await once(third!.child, 'exit');
    for (let n = 0; n < 20; n++) expect((await client.call('GET', `/sandboxes/${id}`)).status).toBe(200);
    await client.destroy(id);
  });
});
