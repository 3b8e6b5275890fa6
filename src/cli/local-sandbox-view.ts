// Sandboxes that are left on this machine, as text for people.
import type { CleanReport, LocalReport, LocalSandbox } from '../schema/local-sandbox.ts';
import { line } from './print.ts';
import { age, type Column, table } from './render.ts';

const columns = (now: number): Column<LocalSandbox>[] => [
  { title: 'id', value: ({ id }) => id },
  { title: 'state', value: ({ state, recorded }) => (recorded ? state : `${state} (not recorded)`) },
  { title: 'provider', value: ({ provider }) => provider },
  { title: 'instance', value: ({ instance }) => instance },
  { title: 'age', value: ({ created_at }) => age(created_at, now), align: 'right' },
  { title: 'expires', value: ({ expires_at }) => expires_at && age(expires_at, now), align: 'right' },
];

/** `now` is ms since 1970, for ages. */
export function localTable({ sandboxes, notes }: LocalReport, now: number): string {
  return [
    table(sandboxes, columns(now), 'No sandboxes are left.'),
    ...notes.map((note) => line`${note}`),
  ].join('\n');
}

export function cleanText(report: CleanReport, now: number): string {
  const { confirmed, ended, failed, sandboxes } = report;
  const outcome = confirmed ? `${ended.length} ended, ${failed.length} failed` : UNCONFIRMED;
  return [localTable(report, now), ...(sandboxes.length === 0 ? [] : [outcome])].join('\n');
}

const UNCONFIRMED = 'Nothing was ended. Run it again with --yes to end them.';
