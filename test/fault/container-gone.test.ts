// Containers that end behind our back: removed by somebody, or killed by the kernel for their memory. Noticed within one
// interval of the comparison, with nobody asking for them.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { countFaults } from '../../proof/faulted.ts';
import { NOTHING, remains } from '../support/checks/auditor.ts';
import { inContainers, type Runtime } from '../support/hosts/matrix.ts';
import { type SharedEngine, sharedEngine } from '../support/hosts/shared-engine.ts';
import { type Api, api } from '../support/servers/api.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

countFaults('containers behind our back');

/** Of the comparison, and what a busy machine adds. */
const INTERVAL_MS = 30_000 + 5_000;

interface Under {
  engine: SharedEngine;
  server: TestServer;
  client: Api;
}

function behindOurBack(name: string, change: Record<string, string>, body: (under: Under) => void): void {
  inContainers(['runc'], { needs: [], name }, ({ env }: Runtime) => {
    const under = {} as Under;
    beforeEach(async () => {
      under.engine = await sharedEngine();
      under.server = await startServer({ env: { ...env, ...change } });
      under.client = api(under.server.url);
    });
    afterEach(async () => {
      await under.server?.stop();
      if (under.server) removeHome(under.server.home);
    });
    body(under);
  });
}

/** By the list alone, which looks at nothing but rows. */
async function noticed({ client }: Under, id: string): Promise<void> {
  await until(
    'its end to be noticed',
    async () => {
      const { body } = await client.call<{ id: string }[]>('GET', '/sandboxes');
      return body.every((row) => row.id !== id);
    },
    INTERVAL_MS,
  );
}

async function expectLost({ client, server }: Under, id: string): Promise<void> {
  const { status, body } = await client.call('GET', `/sandboxes/${id}`);
  expect([status, body]).toMatchObject([404, { details: { end_reason: 'runtime_lost' } }]);
  const events = await (await client.raw(`/events?follow=false&sandbox_id=${id}`)).text();
  expect(events).toMatch(/^event: sandbox\.error$[\s\S]*^event: sandbox\.destroyed$/m);
  expect(remains(server, [id])).toEqual(NOTHING);
}

behindOurBack('behind our back', {}, (under) => {
  it.each(['removed', 'killed'] as const)('%s: the sandbox ends with a reason', async (how) => {
    const { client, engine } = under;
    const { id } = await client.spawn({ ttl: '1h' });
    const [container] = await engine.api.containers(`svc.id=${id}`);
    const path = `/containers/${container?.Id}`;
    const done =
      how === 'removed'
        ? await engine.api.call('DELETE', `${path}?force=1`)
        : await engine.api.call('POST', `${path}/kill`);
    expect(done.status).toBe(204);
    await noticed(under, id);
    await expectLost(under, id);
  });
});

behindOurBack('out of memory', {}, (under) => {
  it('ends the sandbox with a reason', async () => {
    const { client, engine } = under;
    const { id } = await client.spawn({ ttl: '1h', memory_mb: 64 });
    const since = Math.floor(Date.now() / 1000);
    // They offer the agent to the kernel in their own place, and share what there is, so that neither has the most.
    const eaters = [
      'echo 1000 > /proc/1/oom_score_adj; echo 0 > /proc/self/oom_score_adj',
      'tail /dev/zero & tail /dev/zero',
    ].join('; ');
    const eat = () => client.call('POST', `/sandboxes/${id}/exec`, { command: eaters });
    let { status } = await eat();
    // The kernel may take one of them all the same, and then what asked for more is answered.
    for (let turn = 1; status === 200 && turn < 5; turn += 1) ({ status } = await eat());
    // By when it is answered its end may be known or not.
    expect([503, 404]).toContain(status);
    await noticed(under, id);
    await expectLost(under, id);
    const filters = JSON.stringify({ event: ['oom'], label: [`svc.id=${id}`] });
    const query = new URLSearchParams({
      filters,
      since: `${since}`,
      until: `${Math.ceil(Date.now() / 1000)}`,
    });
    expect(JSON.stringify(await engine.api.call('GET', `/events?${query}`))).toContain('oom');
  });
});
