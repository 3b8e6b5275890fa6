// How a worker begins: what it took over is bounded from the first moment.
import { expect, it } from 'vitest';
import { startWorker } from '../../../src/worker/worker.ts';
import { fakeIds, seededRandom } from '../../support/fakes/ports.ts';
import { workerFixture } from '../../support/servers/worker-fixture.ts';

it('ends what is over also while a provider does not list', async () => {
  const bench = await workerFixture();
  await bench.spawn('sb-aaaaaaaaaaaa', 1, { ttl: '1m' });
  bench.link.renewing = () => Promise.reject(new Error('nobody'));
  await bench.release();
  const { list } = bench.provider;
  bench.provider.list = async (signal) => {
    bench.provider.list = list;
    await bench.clock.sleep(600_000, signal);
    return list(signal);
  };
  const { parts, link } = bench;
  const starting = startWorker({
    ...parts,
    ...{ link, journal: await bench.twin(), ids: fakeIds(), random: seededRandom(), heartbeatMs: 10_000 },
    facts: { hostname: 'h', version: '1', capacity: {}, labels: {} },
  });
  await bench.clock.advance(300_000);
  expect(bench.provider.runtimes.size).toBe(0);
  await bench.clock.advance(301_000);
  await (await starting).close(0);
});
