// Snapshots as a table.
import type { Snapshot } from '../schema/snapshot.ts';
import { type Column, sizeText, table } from './render.ts';

const COLUMNS: Column<Snapshot>[] = [
  { title: 'image', value: ({ image }) => image },
  { title: 'kernel', value: ({ kernel }) => kernel },
  { title: 'size', value: ({ size }) => sizeText(size), align: 'right' },
  { title: 'created', value: ({ created_at }) => created_at },
  { title: 'provider', value: ({ provider }) => provider },
];

export function snapshotTable(snapshots: readonly Snapshot[]): string {
  return table(snapshots, COLUMNS, 'No snapshots.');
}
