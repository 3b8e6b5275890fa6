// Support bundles as text for people.
import type {
  BundleChange,
  BundleDifference,
  BundleInspection,
  BundlePreview,
  BundleReport,
  SectionEntry,
} from '../schema/bundle.ts';
import { facts, sizeText, table } from './render.ts';

const LONGEST_VALUE = 80;

export function bundleText({ output, size_bytes, index, redactions }: BundleReport): string {
  const removed = redactions.reduce((sum, { count }) => sum + count, 0);
  const head = facts([
    ['bundle', output],
    ['size', sizeText(size_bytes)],
    ['removed', `${removed} values in ${redactions.length} locations; see "redactions" in the file`],
  ]);
  return `${head}\n\n${indexTable(index)}\n\nRead it before you share it.`;
}

function indexTable(index: readonly SectionEntry[]): string {
  return table(index, [
    { title: 'section', value: ({ section }) => section },
    { title: 'status', value: ({ status }) => status },
    { title: 'holds', value: ({ title }) => title },
    { title: 'size', value: ({ bytes }) => (bytes > 0 ? sizeText(bytes) : undefined), align: 'right' },
    { title: 'why not', value: ({ reason }) => reason },
  ]);
}

export function previewText({ sections }: BundlePreview): string {
  return table(sections, [
    { title: 'section', value: ({ section }) => section },
    { title: 'collected', value: ({ collected }) => (collected ? 'yes' : 'no') },
    { title: 'holds', value: ({ title }) => title },
    { title: 'why not', value: ({ reason }) => reason },
  ]);
}

export function inspectionText(report: BundleInspection): string {
  const head = facts([
    ['bundle', report.file],
    ['created', report.created_at],
    ['version', report.program_version],
    ['removed', `${report.redacted} values`],
  ]);
  const findings = table(
    report.findings,
    [
      { title: 'severity', value: ({ severity }) => severity },
      { title: 'section', value: ({ section }) => section },
      { title: 'finding', value: ({ message }) => message },
    ],
    'No findings.',
  );
  return `${head}\n\n${indexTable(report.index)}\n\n${findings}`;
}

export function differenceText({ changes }: BundleDifference): string {
  return table(
    changes,
    [
      { title: 'path', value: ({ path }) => path },
      { title: 'before', value: (change) => valueText(change, 'before') },
      { title: 'after', value: (change) => valueText(change, 'after') },
    ],
    'The bundles do not differ.',
  );
}

function valueText(change: BundleChange, side: 'before' | 'after'): string | undefined {
  if (!(side in change)) return undefined;
  const value = change[side];
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text;
}
