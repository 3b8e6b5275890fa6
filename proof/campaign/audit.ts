// What is wrong after a trial: the clients' journal and the kernel's and the engine's own lists, held against the rows of the
// database. Nothing of it is asked of the server.
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { agents, NOTHING, type Remains, remains, runtimes } from '../../test/support/checks/auditor.ts';
import { type Ledger, readLedger } from '../../test/support/checks/ledger.ts';
import type { TestServer } from '../../test/support/servers/server.ts';
import type { Journal } from './journal.ts';

export interface Limits {
  /** Sandboxes at once, and of one owner. */
  cap: number;
  own: number;
}

/** Sentences, none where all is well. */
export interface Findings {
  rows_lost: string[];
  runtimes_leaked: string[];
  double_spawns: string[];
  over_admissions: string[];
  unsettled: string[];
}
export type Finding = keyof Findings;

/**
 * There is a runtime for each row, each ready one and each VM, and no more; no operation is in progress. There are `warm`
 * ready ones, where there is room for them.
 */
export function isSettled(server: TestServer, warm: number, { cap }: Limits): boolean {
  const ledger = readLedger(server.home);
  const isStill = ledger.live.every(({ state }) => state === 'running');
  const isStocked = ledger.warm === warm || ledger.live.length + warm > cap;
  return isStill && isStocked && runtimes(server).length === expectedRuntimes(ledger);
}

const expectedRuntimes = ({ live, warm, vms }: Ledger) =>
  live.filter(({ vm_id }) => vm_id === null).length + warm + vms;

export function audit(server: TestServer, journal: Journal, { cap, own }: Limits): Findings {
  const ledger = readLedger(server.home);
  const running = runtimes(server);
  const ids = running.flatMap((line) => /\b(?:sb|vm)-[a-z0-9]+/.exec(line) ?? []);
  const { all, own: most } = ledger.most;
  return {
    rows_lost: [...lost(ledger, journal), ...changed(server.home, journal)],
    runtimes_leaked: [...extra(ids, ledger, running.length), ...leftOvers(server, ledger, journal)],
    double_spawns: [
      ...ledger.twice.map((id) => `${id} began or ended twice`),
      ...twice(ids).map((id) => `${id} runs twice`),
      ...[...journal.keyed].flatMap(([key, given]) =>
        given.size > 1 ? [`${key} gave ${[...given].join(' and ')}`] : [],
      ),
    ],
    over_admissions: [
      ...(all > cap ? [`${all} at once of ${cap}`] : []),
      ...(most > own ? [`${most} of one owner at once of ${own}`] : []),
    ],
    unsettled: [
      ...ledger.live.filter(({ state }) => state !== 'running').map(({ id, state }) => `${id} is ${state}`),
      ...(running.length < expectedRuntimes(ledger) ? [`a row has no runtime: ${without(ids, ledger)}`] : []),
      ...(ledger.counted === ledger.live.length ? [] : [`${ledger.counted} counted`]),
      ...(ledger.sound ? [] : ['the database is not sound']),
      ...journal.surprises,
    ],
  };
}

/** What was given lives, and what was confirmed to have ended has. */
function lost({ all, live }: Ledger, { given }: Journal): string[] {
  const [known, alive] = [all, live].map((rows) => new Set(rows.map(({ id }) => id)));
  return [...given].flatMap(([id, { mayEnd, hasEnded }]) => {
    // What has ended is forgotten after a while.
    if (!known?.has(id)) return mayEnd ? [] : [`${id} is unknown`];
    if (hasEnded && alive?.has(id)) return [`${id} is back`];
    return !mayEnd && !alive?.has(id) ? [`${id} is gone`] : [];
  });
}

/** Deadlines, quotas and templates that differ from what was confirmed and from operations in flight. */
function changed(home: string, { given, quotas, templates }: Journal): string[] {
  const db = new Sqlite(join(home, 'svc.db'), { readonly: true });
  const read = (sql: string, key: string) => db.prepare(sql).pluck().get(key) ?? undefined;
  try {
    const deadlines = [...given].flatMap(([id, { expires_at }]) => {
      const kept = read('SELECT expires_at FROM sandboxes WHERE id = ?', id) as string | undefined;
      return kept !== undefined && kept < expires_at ? [`${id} ends at ${kept}, not at ${expires_at}`] : [];
    });
    const odd = (book: Journal['quotas'], sql: string) =>
      [...book].flatMap(([name, allowed]) => {
        const kept = read(sql, name) as number | undefined;
        return allowed.has(kept) ? [] : [`${name} has ${kept}, not ${[...allowed].join(' or ')}`];
      });
    return [
      ...deadlines,
      ...odd(quotas, 'SELECT max_sandboxes FROM owner_quotas WHERE owner_id = ?'),
      ...odd(templates, 'SELECT memory_mb FROM templates WHERE name = ?'),
      ...miscounted(db),
    ];
  } finally {
    db.close();
  }
}

interface Use {
  sandbox_id: string;
  owner_id: string;
  started_at: string;
  metered_to: string;
  use_ended: string | null;
  ended_at: string | null;
  settled: number;
  sandbox_ms: number;
  vcpu_ms: number;
  vcpus: number;
  cpu_us: number;
}

/** In the ledger of use, time is that between the stamps of the row to the millisecond, and hours add up to what sandboxes have. */
function miscounted(db: Sqlite.Database): string[] {
  const rows = db
    .prepare<[], Use>(
      'SELECT u.*, u.ended_at AS use_ended, s.ended_at FROM usage_sandboxes u JOIN sandboxes s ON s.id = u.sandbox_id',
    )
    .all();
  const hours = db
    .prepare<[], string>(
      'SELECT owner_id FROM (SELECT owner_id, sandbox_ms, cpu_us, used_mb_ms FROM usage_sandboxes UNION ALL SELECT owner_id, -sandbox_ms, -cpu_us, -used_mb_ms FROM usage_hours) GROUP BY owner_id HAVING sum(sandbox_ms) <> 0 OR sum(cpu_us) <> 0 OR sum(used_mb_ms) <> 0',
    )
    .pluck()
    .all();
  return [
    ...rows.flatMap(wrongUse),
    ...hours.map((owner) => `the hours of ${owner} differ from its sandboxes`),
  ];
}

function wrongUse(use: Use): string[] {
  const {
    sandbox_id: id,
    started_at,
    metered_to,
    use_ended,
    ended_at,
    settled,
    sandbox_ms,
    vcpu_ms,
    vcpus,
  } = use;
  const ms = Date.parse(metered_to) - Date.parse(started_at);
  return [
    ...(sandbox_ms === ms && vcpu_ms === ms * vcpus ? [] : [`${id} has ${sandbox_ms} ms of ${ms}`]),
    ...(settled === 0 || metered_to === ended_at
      ? []
      : [`${id} is settled to ${metered_to}, and ended ${ended_at}`]),
    ...(use_ended === ended_at ? [] : [`${id} ended ${ended_at}, in the ledger ${use_ended}`]),
    ...(use.cpu_us >= 0 ? [] : [`${id} used ${use.cpu_us} us`]),
  ];
}

function extra(ids: readonly string[], ledger: Ledger, running: number): string[] {
  const more = running - expectedRuntimes(ledger);
  const live = new Set(ledger.live.map(({ id }) => id));
  const ended = ledger.all.filter(({ id }) => !live.has(id) && ids.includes(id)).map(({ id }) => id);
  if (more <= 0 && ended.length === 0) return [];
  return [`${running} run for ${expectedRuntimes(ledger)} rows ${ended.join(' ')}`];
}

/** The traces of ended sandboxes, everywhere. */
function leftOvers(server: TestServer, { all, live }: Ledger, { given }: Journal): string[] {
  const alive = new Set(live.map(({ id }) => id));
  const known = new Set([...all.map(({ id }) => id), ...given.keys()]);
  const ended = [...known].filter((id) => !alive.has(id));
  const left = remains(server, ended);
  const isEnded = (line: string) => ended.some((id) => line.includes(id));
  return (Object.keys(NOTHING) as (keyof Remains)[]).flatMap((kind) =>
    (kind === 'processes' ? agents(ended) : left[kind]).filter(isEnded).map((line) => `${kind}: ${line}`),
  );
}

/** Rows whose runtime is their own and not there; of ready ones and VMs the count alone is known. */
const without = (ids: readonly string[], { live }: Ledger) =>
  live
    .filter(({ id, vm_id }) => vm_id === null && !ids.includes(id))
    .map(({ id }) => id)
    .join(' ') || 'a ready one or a VM';

const twice = (ids: readonly string[]) => ids.filter((id, at) => ids.indexOf(id) !== at);
