// What commands for files answer for a PostgreSQL database: the line that does the same, without the password.
import { expect, it } from 'vitest';
import { isDatabaseUrl, refusedUrl } from '../../../src/cli/postgres-tools.ts';

const HOSTS = 'db1:5432,[::1]:6000';
const CONNECTION = 'host=db1,::1 port=5432,6000 user=svc dbname=svc target_session_attrs=read-write';

it('names the line of PostgreSQL, with every host and the TLS settings', () => {
  const url = `postgres://svc:a-secret-word@${HOSTS}/svc?sslrootcert=/etc/svc/ca.pem`;
  const tls = 'sslmode=verify-full sslrootcert=/etc/svc/ca.pem';
  expect(refusedUrl('backup', url)).toMatchObject({
    code: 'bad_request',
    remedy: `Run pg_dump --format=custom --file=svc.dump "${CONNECTION} ${tls}".`,
  });
  expect(refusedUrl('restore', url).remedy).toContain(
    `--single-transaction --dbname="${CONNECTION} ${tls}" svc.dump.`,
  );
});

it('leaves out the password, and whatever a shell would interpret', () => {
  const url = 'postgres://u%24(id):a-secret-word@db/n%22%60?sslmode=disable';
  for (const command of ['accept', 'backup', 'restore', 'verify'] as const) {
    const { message, remedy = '' } = refusedUrl(command, url);
    expect(message + remedy).not.toMatch(/a-secret-word|\$\(|`/);
  }
  expect(refusedUrl('backup', url).remedy).toContain('user=USER dbname=DATABASE');
});

it('tells URLs from files', () => {
  expect(['postgres://a@b/c', 'PostgreSQL://a@b/c'].map(isDatabaseUrl)).toEqual([true, true]);
  expect(['svc.db', '/var/postgres/svc.db', './postgres:'].map(isDatabaseUrl)).toEqual([false, false, false]);
});
