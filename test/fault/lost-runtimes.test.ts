// A host that lost all its runtimes at once, as after a reboot: their rows end quickly, many in one commit, also where a
// commit takes its time.
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { faultyHost } from '../support/hosts/faulty-host.ts';
import { describeWith } from '../support/requires.ts';
import { removeHome, startServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const ROWS = 1000;
/** One by one, with two syncs for each row, it were 10; by sixteens 110. */
const SYNC_MS = 50;
const A_SECOND = 200;

/** Rows of sandboxes that run, none of which has a runtime. */
function lose(path: string): void {
  const db = new Sqlite(path);
  const [now, later] = [0, 3_600_000].map((ms) => new Date(Date.now() + ms).toISOString());
  const insert = db.prepare(
    `INSERT INTO sandboxes (id, epoch, state, provider, image, memory_mb, vcpus, network, created_at, expires_at, metadata, env, worker_id, runtime_id)
       VALUES (@id, 1, 'running', 'userspace', 'host', 256, 1, 'default', @now, @later, '[]', '[]', 'local', @id)`,
  );
  const letters = (n: number) => n.toString(4).replace(/\d/g, (digit) => 'bcde'[Number(digit)] as string);
  db.transaction(() => {
    for (let n = 0; n < ROWS; n++) insert.run({ id: `sb-${letters(n).padStart(12, 'a')}`, now, later });
  })();
  db.close();
}

describeWith(['root', 'unshare', 'cc'], 'a host that lost its runtimes', () => {
  it(`ends ${ROWS} rows at ${A_SECOND} a second and more`, async () => {
    const first = await startServer();
    onTestFinished(() => removeHome(first.home));
    await first.stop();
    const path = join(first.home, 'svc.db');
    lose(path);
    const host = faultyHost(first.home);
    host.set({ sync_ms: SYNC_MS });
    const server = await startServer({ home: first.home, env: host.env });
    onTestFinished(() => server.kill());
    const db = new Sqlite(path, { readonly: true });
    onTestFinished(() => void db.close());
    const left = db.prepare("SELECT count(*) FROM sandboxes WHERE state <> 'destroyed'").pluck();
    const began = performance.now();
    // Twice found missing, a second apart.
    const mostMs = 1000 + (ROWS / A_SECOND) * 1000;
    await until('all to have ended', () => left.get() === 0, mostMs);
    expect(performance.now() - began).toBeLessThan(mostMs);
    const lost = db.prepare("SELECT count(*) FROM sandboxes WHERE end_reason = 'runtime_lost'").pluck();
    expect(lost.get()).toBe(ROWS);
    expect(await server.stop()).toBe(0);
  });
});
