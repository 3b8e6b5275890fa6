// Commands of a sandbox as a table.
import type { ExecItem } from '../schema/exec.ts';
import { age, type Column, table } from './render.ts';

const columns = (now: number): Column<ExecItem>[] => [
  { title: 'id', value: ({ exec_id }) => exec_id },
  { title: 'state', value: ({ state }) => state },
  { title: 'exit', value: ({ exit_code, signal }) => signal ?? exit_code, align: 'right' },
  { title: 'detached', value: ({ detached }) => (detached ? 'yes' : undefined) },
  { title: 'age', value: ({ started_at }) => age(started_at, now), align: 'right' },
  { title: 'command', value: ({ command }) => command },
];

/** `now` is ms since 1970, for ages. */
export function execTable(items: readonly ExecItem[], now: number): string {
  return table(items, columns(now), 'No commands.');
}
