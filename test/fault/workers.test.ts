// Three real workers on hosts of their own that lose their network, their control plane, their lives. What runs is counted in
// /proc, never asked of a worker. SVC_TEST_WORKER_ROUNDS makes it longer.
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { countFaults } from '../../proof/faulted.ts';
import { agents } from '../support/checks/auditor.ts';
import { type WorkerHost, type WorkerNetwork, workerNetwork } from '../support/hosts/worker-hosts.ts';
import { describeWith } from '../support/requires.ts';
import { type ScriptedControl, scriptedControl } from '../support/scripted/control-plane.ts';
import { until } from '../support/until.ts';

countFaults('workers and their networks');

const ROUNDS = Number(process.env.SVC_TEST_WORKER_ROUNDS ?? 1);
const EACH = Number(process.env.SVC_TEST_WORKER_SANDBOXES ?? 3);
const LEASE_MS = 12_000;
/** What a busy machine may take beyond a lease to notice and to end it. */
const SLACK_MS = 20_000;
const WORKERS = ['w1', 'w2', 'w3'];

describeWith(['root', 'bwrap'], 'three workers', () => {
  let network: WorkerNetwork;
  let control: ScriptedControl;
  let hosts: WorkerHost[] = [];
  let made = 0;

  beforeAll(async () => {
    network = workerNetwork();
    const worker_tokens = Object.fromEntries(
      WORKERS.map((id) => [id, `the secret of ${id}, not to be shared`]),
    );
    control = await scriptedControl({ address: network.gateway, auth: { worker_tokens }, leaseMs: LEASE_MS });
    hosts = WORKERS.map((id) =>
      network.host(id, { controlPlane: control.url, secret: worker_tokens[id] ?? '' }),
    );
    await Promise.all(hosts.map((host) => host.start()));
    await until(
      'all have sent a heartbeat',
      () => WORKERS.every((id) => control.heard.get(id)?.body.rpc_url),
      60_000,
    );
  });
  afterAll(async () => {
    await control?.stop();
    await network?.remove();
  });

  afterEach(() => {
    for (const each of hosts) {
      each.cable(true);
      each.mute(false);
    }
  });

  const idOf = (n: number) =>
    `sb-${process.pid.toString(36).padStart(5, 'a')}${n.toString(36).padStart(7, '0')}`;
  const next = () => idOf(made++);
  const host = (id: string) => hosts.find((each) => each.id === id) as WorkerHost;
  const running = (id: string) => agents([id]).length;
  const booked = (worker: string) =>
    [...control.book].filter(([, each]) => each.worker === worker && each.wanted);
  const spawned = async (worker: string) => {
    const id = next();
    const { status, answer } = await control.spawn(id, worker);
    expect([status, answer.error]).toEqual([200, undefined]);
    return id;
  };
  /** Fills each worker to `EACH`; ids by worker. */
  const fill = async () => {
    for (const [, each] of control.book) each.wanted &&= each.leaseEnds > Date.now();
    for (const worker of WORKERS)
      await Promise.all(Array.from({ length: EACH - booked(worker).length }, () => spawned(worker)));
  };
  const none = (worker: string, ms: number) =>
    until(`nothing runs on ${worker}`, () => host(worker).runtimes().length === 0, ms);
  const lost = (worker: string) => {
    for (const [, each] of booked(worker)) each.wanted = false;
  };
  const noneTwice = () => {
    for (const id of control.book.keys()) expect(running(id)).toBeLessThanOrEqual(1);
  };

  for (let round = 1; round <= ROUNDS; round++) {
    it(`keep their sandboxes while leases are renewed (${round})`, async () => {
      await fill();
      for (const worker of WORKERS) expect(host(worker).runtimes()).toHaveLength(EACH);
      const generations = new Map([...control.book].map(([id, { generation }]) => [id, generation]));
      await until('every lease is renewed', () =>
        [...control.book].every(([id, each]) => !each.wanted || each.generation > (generations.get(id) ?? 0)),
      );
      noneTwice();
    });

    it(`keep their sandboxes during a cut that is shorter than a lease (${round})`, async () => {
      await fill();
      const [cut, mute] = [host('w1'), host('w2')];
      cut.cable(false);
      mute.mute(true);
      const from = Date.now();
      await until('a part of a lease is over', () => Date.now() - from > LEASE_MS / 5, LEASE_MS);
      cut.cable(true);
      mute.mute(false);
      await until(
        'all have sent a heartbeat again',
        () => WORKERS.every((id) => (control.heard.get(id)?.at ?? 0) > from + LEASE_MS / 5),
        60_000,
      );
      await until('all that has a lease runs, once', () =>
        [...control.book].every(
          ([id, each]) => each.leaseEnds <= Date.now() || running(id) === Number(each.wanted),
        ),
      );
      noneTwice();
    });

    it.each([
      ['in both directions', 'w1'],
      ['one way', 'w2'],
    ])(`end their sandboxes when they are cut off %s (${round})`, async (how, worker) => {
      await fill();
      const [cut, others] = [host(worker), WORKERS.filter((id) => id !== worker)];
      if (how === 'in both directions') cut.cable(false);
      else cut.mute(true);
      await none(worker, LEASE_MS + SLACK_MS);
      const ends = booked(worker).map(([, { leaseEnds }]) => leaseEnds);
      expect(Date.now()).toBeLessThan(Math.max(...ends) + SLACK_MS);
      for (const other of others) expect(host(other).runtimes()).toHaveLength(EACH);
      lost(worker);
      if (how === 'in both directions') cut.cable(true);
      else cut.mute(false);
      const healed = Date.now();
      await until(
        'it has sent a heartbeat again',
        () => (control.heard.get(worker)?.at ?? 0) > healed,
        60_000,
      );
      await spawned(worker);
      noneTwice();
    });

    it(`leave no unknown sandbox when they are killed during spawns (${round})`, async () => {
      for (const pause of [5, 60, 150]) {
        const ids = Array.from({ length: 3 }, next);
        const answers = ids.map((id) => control.spawn(id, 'w3').catch(() => undefined));
        await new Promise((resolve) => setTimeout(resolve, pause));
        await host('w3').end('SIGKILL');
        const told = await Promise.all(answers);
        await host('w3').start();
        for (const [n, id] of ids.entries()) {
          const isTold = told[n]?.status === 200;
          // What was acknowledged lives on; what was not is here once or not at all, and is ended when that is asked.
          if (isTold) expect(running(id)).toBe(1);
          else expect(running(id)).toBeLessThanOrEqual(1);
          expect((await control.destroy(id)).status).toBe(200);
          expect(running(id)).toBe(0);
        }
      }
      // It was away for most of the time: what it could not renew is over, and nothing else is.
      const holds = ({ leaseEnds }: { leaseEnds: number }) => leaseEnds > Date.now();
      await until(
        'it runs what has a lease, and nothing more',
        () =>
          booked('w3').every(([id, each]) => running(id) === Number(holds(each))) &&
          host('w3').runtimes().length === booked('w3').filter(([, each]) => holds(each)).length,
        LEASE_MS + SLACK_MS,
      );
      for (const [, each] of booked('w3')) each.wanted = holds(each);
    });

    it(`end all sandboxes while the control plane is unreachable, and serve again when it is back (${round})`, async () => {
      await fill();
      await control.stop();
      await Promise.all(WORKERS.map((id) => none(id, LEASE_MS + SLACK_MS)));
      for (const worker of WORKERS) lost(worker);
      const back = Date.now();
      await control.restart();
      await until(
        'all have sent a heartbeat',
        () => WORKERS.every((id) => (control.heard.get(id)?.at ?? 0) > back),
        60_000,
      );
      const gone = [...control.book.keys()].at(-1) ?? '';
      expect(await control.status(gone)).toBe('gone');
    });
  }

  it('stopped in order report draining, and leave running sandboxes to the next start', async () => {
    await fill();
    const ids = booked('w1').map(([id]) => id);
    await host('w1').end('SIGTERM');
    expect(control.heard.get('w1')?.body.status).toBe('draining');
    for (const id of ids) expect(running(id)).toBe(1);
    await host('w1').start();
    for (const id of ids) expect(running(id)).toBe(1);
    for (const id of [...control.book].filter(([, each]) => each.wanted).map(([id]) => id))
      await control.destroy(id);
    for (const worker of WORKERS) expect(host(worker).runtimes()).toEqual([]);
  });
});
