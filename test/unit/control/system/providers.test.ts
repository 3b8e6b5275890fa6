// Who reads places on the host in what is said of providers: administrators and the log, nobody else.
import { expect, it } from 'vitest';
import { testConfig } from '../../../support/config.ts';
import { world } from '../../../support/servers/control.ts';

it('shows host paths only to administrators', async () => {
  const w = world({
    providers: { userspace: { ...testConfig().providers.userspace, workspace_base: '/srv/secret/base' } },
  });
  const message = 'unix:/run/secret.sock: It cannot be reached. Look at /srv/secret/place.';
  w.provider.probe = async () => ({ healthy: false, message, findings: [] });
  const { providers, metrics } = w.control;
  const shown = [await providers.list(), await providers.get('userspace'), await metrics.body()];
  expect(
    JSON.stringify([...shown, await metrics.diagnostics({ logs: false }), await w.events()]),
  ).not.toContain('secret');
  expect(await providers.list()).toMatchObject([{ error: '(path): It cannot be reached. Look at (path).' }]);
  expect(await providers.list(true)).toMatchObject([{ error: message }]);
  expect(await providers.get('userspace', true)).toMatchObject({
    error: message,
    config: { workspace_base: '/srv/secret/base' },
  });
  expect(await providers.test()).toMatchObject({ userspace: { error: message } });
  expect((await w.events()).map(({ type }) => type)).toContain('provider.failed');
});

it('finds audited methods in any letter case', async () => {
  const w = world();
  const draft = {
    ...{ actor: 'admin', method: 'DELETE', path: '/x', status: 200, duration_ms: 1, request_id: 'r' },
    created_at: new Date(w.clock.now()).toISOString(),
  };
  w.control.audit.record(draft as Parameters<typeof w.control.audit.record>[0]);
  const listed = w.control.audit.list({ method: 'delete' });
  await w.clock.advance(100);
  expect((await listed).records).toMatchObject([{ method: 'DELETE' }]);
});
