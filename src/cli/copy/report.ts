// What a copy says at its end: one line for people, one object for machines, a failure when something is missing.
import { printable } from '../../domain/printable.ts';
import { combinedFailure } from '../batch.ts';
import { speedText } from '../progress.ts';
import { sizeText } from '../render.ts';
import type { CopyRequest } from './copy.ts';
import type { Tally } from './transfer.ts';

const MOST_NAMED = 100;

export interface CopyReport extends CopyRequest, Omit<Tally, 'failed'> {
  duration_ms: number;
}

/** The report. Throws one failure that names what was not copied. */
export function reported(ends: CopyRequest, { failed, ...tally }: Tally, duration_ms: number): CopyReport {
  if (failed.length === 0) return { ...ends, ...tally, duration_ms };
  const all = failed.length + tally.files + tally.folders + tally.links;
  throw combinedFailure(failed, `${failed.length} of ${all} were not copied.`);
}

export function reportText({ files, folders, links, bytes, duration_ms, left_out }: CopyReport): string {
  const counts = [counted(files, 'file'), counted(folders, 'folder'), counted(links, 'link')];
  const what = counts.filter((text) => text !== undefined).join(', ') || 'nothing';
  const seconds = (duration_ms / 1000).toFixed(1);
  const lines = left_out
    .slice(0, MOST_NAMED)
    .map(({ path, reason }) => `left out: ${printable(path)}: ${printable(reason)}`);
  if (left_out.length > MOST_NAMED) lines.push(`left out: ${left_out.length - MOST_NAMED} more`);
  return [...lines, `${what}, ${sizeText(bytes)} in ${seconds} s (${speedText(bytes, duration_ms)})`].join(
    '\n',
  );
}

function counted(count: number, noun: string): string | undefined {
  if (count === 0) return undefined;
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
