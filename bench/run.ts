// Measures the speed table against servers of its own, row by row, and reports each as it ends.
import { ServiceError } from '../src/domain/errors.ts';
import { packageRoot } from '../src/host/package-root.ts';
import type { Before } from './compare.ts';
import { sweep } from './folders.ts';
import { type Group, isWanted } from './group.ts';
import { GROUPS } from './groups.ts';
import { measureApart, measureHere } from './measure-group.ts';
import { hostFacts, type Listed, type Results } from './report.ts';
import type { Pair, Row } from './row.ts';

export { GROUPS };

export interface BenchRequest {
  /** The folder of the package; by default that of this code. */
  root?: string;
  /** Rows by id, or by the part before a dash: `P28` selects all rows that start with it. All by default. */
  only?: readonly string[] | undefined;
  /** Earlier figures, which rows then carry as `was`. */
  before?: Before | undefined;
  /** Rows of a run of the same build that was ended: they are not measured again. */
  done?: readonly Row[];
  signal?: AbortSignal;
  started?(pair: Pick<Pair, 'id' | 'name'>): void;
  ended?(row: Row): void;
  /** The table's own unless given. */
  groups?: readonly Group[];
}

/**
 * A group that breaks costs its own rows only: they are in `not_run`, with what broke. Throws `bad_request` for a row that there is not;
 * once `signal` aborts, its reason, with everything cleared away.
 */
export async function bench({ groups = GROUPS, ...request }: BenchRequest): Promise<Results> {
  refuseUnknown(request.only, groups);
  await sweep();
  const results: Results = { host: hostFacts(), started_at: new Date().toISOString(), rows: [], not_run: [] };
  const began = performance.now();
  for (const group of groups) await runGroup(group, request, results);
  // A continued run took longer than its last part.
  if (!request.done?.length) results.seconds = Math.round((performance.now() - began) / 1000);
  return results;
}

async function runGroup(group: Group, request: BenchRequest, { rows, not_run }: Results): Promise<void> {
  const { root = packageRoot(), only, before, done = [], signal, started } = request;
  const wanted = group.ids.filter((id) => isWanted(id, only));
  rows.push(...done.filter(({ id }) => wanted.includes(id)));
  const ids = wanted.filter((id) => !done.some((row) => row.id === id));
  if (ids.length === 0) return;
  const reason = group.need?.(root);
  if (reason !== undefined) return void not_run.push(...ids.map((id) => ({ id, reason })));
  signal?.throwIfAborted();
  const ended = (row: Row) => {
    const was = before?.get(row.id);
    if (was !== undefined) row.was = was;
    rows.push(row);
    request.ended?.(row);
  };
  const measure = GROUPS.includes(group) ? measureApart : measureHere;
  try {
    await measure(group, { root, ids, signal, started, ended });
  } catch (error) {
    signal?.throwIfAborted();
    const missing = ids.filter((id) => !rows.some((row) => row.id === id));
    not_run.push(
      ...missing.map((id) => ({ id, reason: `broke: ${firstLine(error)}`, broke: true as const })),
    );
  }
}

const firstLine = (error: unknown) => String(error).split('\n', 1)[0] ?? '';

/** Every row that could be measured was, and met its bar. */
export function isGood({ rows, not_run }: Results): boolean {
  return rows.every(({ pass }) => pass) && !not_run.some(({ broke }) => broke);
}

/** All groups of rows, and what this machine lacks for them. */
export function listed(root: string = packageRoot(), groups: readonly Group[] = GROUPS): Listed[] {
  return groups.map(({ about, ids, need }) => {
    const reason = need?.(root);
    return { about, ids, ...(reason !== undefined && { not_run: reason }) };
  });
}

/** Throws `bad_request` for a row that there is not. */
export function refuseUnknown(only: readonly string[] | undefined, groups: readonly Group[]): void {
  const ids = groups.flatMap((group) => group.ids);
  const unknown = only?.find((name) => !ids.some((id) => isWanted(id, [name])));
  if (unknown === undefined) return;
  throw new ServiceError('bad_request', `There is no row ${JSON.stringify(unknown.slice(0, 64))}.`, {
    remedy: 'List them with svc bench --list.',
  });
}
