// The units of deploy/systemd under a real systemd, installed as docs/production.md says: ready when it serves, reloaded,
// restarted by the watchdog, backed up, and stopped, with a sandbox that outlives all of it.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Systemd, startSystemd } from '../support/hosts/systemd.ts';
import { describeWith } from '../support/requires.ts';
import { until } from '../support/until.ts';

const UNITS = '/opt/svc/deploy/systemd';

const INSTALL = `
  set -e
  ln -sf /opt/svc/bin/svc.js /usr/local/bin/svc
  cp ${UNITS}/*.service ${UNITS}/*.timer /etc/systemd/system/
  mkdir -p /etc/sysusers.d && cp ${UNITS}/svc.sysusers /etc/sysusers.d/svc.conf
  systemd-sysusers
  rm -rf /etc/svc /var/lib/svc /var/lib/svc-backups && install -d -m 0750 /etc/svc
  svc config init --production --output /etc/svc/svc.yaml
  chown -R svc:svc /etc/svc
  mkdir /etc/systemd/system/svc.service.d
  cat >/etc/systemd/system/svc.service.d/test.conf <<END
[Service]
WatchdogSec=6
RestartSec=100ms
Environment=SVC_PROVIDERS_DEFAULT=userspace SVC_PROVIDERS_USERSPACE_ENABLED=true SVC_PROVIDERS_CONTAINER_ENABLED=false SVC_PROVIDERS_USERSPACE_RUNNER=bwrap
END
  systemctl daemon-reload
`;

/** The command line as an owner's, with the key that is in force. */
const svc = (words: string) =>
  `SVC_USER=me SVC_SERVER=http://127.0.0.1:7423 SVC_API_KEY="$(cat /etc/svc/svc.api_key)" svc ${words}`;

describeWith(['root', 'systemd', 'bwrap'], 'the units under systemd', () => {
  let systemd: Systemd;
  beforeAll(async () => {
    systemd = await startSystemd();
    await systemd.sure(INSTALL);
  });
  afterAll(() => systemd?.stop());

  const mainPid = () => systemd.show('svc', 'MainPID');
  let sandbox: string;
  const echo = () => systemd.sure(svc(`sandbox exec ${sandbox} -- echo alive`));

  it('are ready when the server answers', async () => {
    await systemd.sure('systemctl start svc');
    await systemd.sure(
      'node -e "fetch(\'http://127.0.0.1:7423/api/v1/live\').then((r) => process.exit(r.ok ? 0 : 1))"',
    );
    expect(await systemd.show('svc', 'ActiveState')).toBe('active');
    const status = await systemd.sure(`ps -o user= -p ${await mainPid()}`);
    expect(status.trim()).toBe('svc');
  });

  it('let the service run sandboxes', async () => {
    sandbox = JSON.parse(await systemd.sure(svc('sandbox create --json'))).id;
    expect(await echo()).toBe('alive\n');
  });

  it('reload the configuration', async () => {
    const before = await mainPid();
    const old = (await systemd.sure('cat /etc/svc/svc.api_key')).trim();
    await systemd.sure('head -c 32 /dev/urandom | base64 >/etc/svc/svc.api_key; systemctl reload svc');
    const refused = async () =>
      (await systemd.run(`SVC_USER=me SVC_SERVER=http://127.0.0.1:7423 SVC_API_KEY=${old} svc sandbox list`))
        .code === 6;
    await until('the old key to be refused', refused, 30_000);
    expect(await echo()).toBe('alive\n');
    expect(await mainPid()).toBe(before);
  });

  it('restart a server that hangs', async () => {
    const before = await mainPid();
    expect(Number(before)).toBeGreaterThan(1);
    await systemd.sure(`kill -STOP ${before}`);
    await until('the watchdog', async () => (await systemd.show('svc', 'NRestarts')) === '1', 60_000);
    await until(
      'the next server',
      async () => (await systemd.show('svc', 'ActiveState')) === 'active',
      60_000,
    );
    expect(await mainPid()).not.toBe(before);
    expect(await echo()).toBe('alive\n');
  });

  it('back up the database', async () => {
    await systemd.sure('systemctl start svc-backup.service');
    expect(await systemd.show('svc-backup', 'Result')).toBe('success');
    await systemd.sure('svc db verify /var/lib/svc-backups/svc-*.db');
    await systemd.sure('systemctl start svc-backup.timer');
    expect(await systemd.show('svc-backup.timer', 'ActiveState')).toBe('active');
  });

  it('stop without failure, and leave sandboxes to the next server', async () => {
    await systemd.sure('systemctl stop svc');
    expect(await systemd.show('svc', 'Result')).toBe('success');
    await systemd.sure('systemctl start svc');
    expect(await echo()).toBe('alive\n');
    await systemd.sure(`${svc(`sandbox destroy ${sandbox}`)} && systemctl stop svc`);
  });
});
