// Images of the image store, here and on workers: pulling and removing them.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ImageSummary } from '../../../src/schema/image.ts';
import { call } from '../api/call.ts';
import { identity } from '../app/session.ts';
import { Dialog } from '../parts/dialog.tsx';
import { List, Screen } from '../parts/screen.tsx';
import type { Column } from '../parts/table.tsx';
import { shown, sizeText, Time } from '../parts/text.tsx';

export function Images(): JSX.Element {
  const [pulling, setPulling] = useState(false);
  const [removing, setRemoving] = useState<ImageSummary | undefined>();
  const [stamp, setStamp] = useState(0);
  const mayChange = identity()?.administers === true;
  const done = () => setStamp(Date.now());
  const columns: readonly Column<ImageSummary>[] = [
    {
      id: 'name',
      title: 'Image',
      width: 'minmax(14rem, 2fr)',
      value: ({ name }) => name,
      cell: (image) => shown(image.name),
    },
    {
      id: 'digest',
      title: 'Digest',
      width: '10rem',
      cell: ({ digest }) => <code title={digest}>{digest.slice(7, 19)}</code>,
    },
    {
      id: 'size',
      title: 'Size',
      width: '7rem',
      value: ({ size_bytes }) => size_bytes,
      cell: ({ size_bytes }) => sizeText(size_bytes),
    },
    {
      id: 'used',
      title: 'Last used',
      width: '8rem',
      value: ({ last_used_at }) => last_used_at,
      cell: ({ last_used_at }) => <Time at={last_used_at} />,
    },
    {
      id: 'do',
      title: 'Actions',
      width: '7rem',
      cell: (image) =>
        mayChange && (
          <button
            type="button"
            class="small"
            aria-label={`Remove ${shown(image.name)}`}
            onClick={() => setRemoving(image)}
          >
            Remove
          </button>
        ),
    },
  ];
  return (
    <Screen
      title="Images"
      actions={
        mayChange && (
          <button type="button" class="primary" onClick={() => setPulling(true)}>
            Pull image
          </button>
        )
      }
    >
      <List
        path="images"
        page={100}
        label="Images"
        columns={columns}
        keyOf={({ reference, worker_id = '' }) => `${worker_id} ${reference}`}
        stamp={stamp}
        empty={
          <p>
            The image store is empty. Sandboxes on the host view and container engines need no stored image.
          </p>
        }
      />
      {pulling && (
        <Dialog
          title="Pull an image"
          fields={[
            {
              name: 'image',
              label: 'Image',
              required: true,
              hint: 'For example docker.io/library/debian:12.',
            },
          ]}
          action="Pull"
          run={async ({ image }) => {
            await call('POST', 'images/pull', { body: { image } });
            done();
          }}
          onClose={() => setPulling(false)}
        />
      )}
      {removing && (
        <Dialog
          title={`Remove ${removing.name}`}
          text="Sandboxes that run on it go on. A later spawn pulls it again, or fails."
          action="Remove"
          danger
          run={async () => {
            await call('DELETE', 'images', { query: { name: removing.name } });
            done();
          }}
          onClose={() => setRemoving(undefined)}
        />
      )}
    </Screen>
  );
}
