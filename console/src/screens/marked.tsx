// What one does with the marked sandboxes of the list.
import type { JSX } from 'preact';
import type { Sandbox } from '../../../src/schema/sandbox.ts';
import { csvOf } from '../parts/csv-text.ts';
import { save } from '../parts/save.ts';
import { Copy } from '../parts/text.tsx';
import { Bulk, type BulkKind, countText } from './bulk.tsx';

const FIELDS = [
  ...(['id', 'state', 'owner_id', 'template', 'image', 'provider', 'worker_id'] as const),
  ...(['memory_mb', 'vcpus', 'created_at', 'expires_at'] as const),
];

export interface MarkedProps {
  sandboxes: readonly Sandbox[];
  /** What a key on a row asked for. */
  asked: BulkKind | undefined;
  ask(kind: BulkKind | undefined): void;
  mark(ids: readonly string[]): void;
}

export function Marked({ sandboxes, asked, ask, mark }: MarkedProps): JSX.Element {
  const ids = sandboxes.map(({ id }) => id);
  return (
    <div class="filters marked">
      <span role="status">{countText(ids.length)} marked</span>
      <button type="button" onClick={() => ask('extend')}>
        Extend …
      </button>
      <button type="button" class="danger" onClick={() => ask('end')}>
        End …
      </button>
      <Copy key={ids.join()} text={ids.join('\n')} label="Copy ids" />
      <button type="button" onClick={() => save('sandboxes.csv', new Blob([csvOf(FIELDS, sandboxes)]))}>
        CSV
      </button>
      <button type="button" onClick={() => mark([])}>
        Mark none
      </button>
      {asked && (
        <Bulk
          kind={asked}
          ids={ids}
          onClose={(left) => {
            ask(undefined);
            mark(left);
          }}
        />
      )}
    </div>
  );
}
