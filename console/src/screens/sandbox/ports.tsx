// Links to ports of a sandbox.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ListeningPort, PreviewLink } from '../../../../src/schema/preview.ts';
import { json } from '../../api/call.ts';
import { Failed, Show, useGet } from '../../parts/load.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Copy, shown, Time } from '../../parts/text.tsx';
import type { TabProps } from './sandbox.tsx';

export function Ports({ id, sandbox }: TabProps): JSX.Element {
  const [links, setLinks] = useState<PreviewLink[]>([]);
  const [failure, setFailure] = useState<Error | undefined>();
  const listening = useGet<ListeningPort[]>(`sandboxes/${id}/ports`, {}, 5000);
  const isOn = sandbox.preview_domain !== undefined;
  const link = async (port: number) => {
    setFailure(undefined);
    try {
      const link = await json<PreviewLink>('POST', `sandboxes/${id}/previews`, { body: { port } });
      setLinks((now) => [link, ...now]);
    } catch (error) {
      setFailure(error as Error);
    }
  };
  const columns: readonly Column<ListeningPort>[] = [
    { id: 'port', title: 'Port', width: '6rem', value: ({ port }) => port, cell: ({ port }) => port },
    { id: 'addresses', title: 'Listens on', cell: ({ addresses }) => shown(addresses.join(', ')) },
    {
      id: 'do',
      title: 'Actions',
      width: '9rem',
      cell: ({ port }) =>
        isOn && (
          <button
            type="button"
            class="small"
            aria-label={`Make a link to ${port}`}
            onClick={() => void link(port)}
          >
            Make a link
          </button>
        ),
    },
  ];
  return (
    <>
      {!isOn && (
        <p class="hint">
          Previews are off for this sandbox. The key <code>server.preview_domain</code> turns them on.
        </p>
      )}
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          void link(Number(new FormData(event.currentTarget).get('port')));
        }}
      >
        <label>
          <span class="visually-hidden">Port</span>
          <input name="port" type="number" min={1} max={65_535} placeholder="Port" required />
        </label>
        <button type="submit">Make a link</button>
      </form>
      {failure && <Failed failure={failure} />}
      <ul class="plain">
        {links.map((link) => (
          <li key={link.url}>
            <a href={link.url} target="_blank" rel="noopener noreferrer">
              {link.url.split('?')[0]}
            </a>{' '}
            <Copy text={link.url} /> until <Time at={link.expires_at} />
          </li>
        ))}
      </ul>
      <h2>Programs listen on</h2>
      <Show of={listening}>
        {(ports) => (
          <Table
            label="Ports"
            rows={ports}
            columns={columns}
            keyOf={({ port }) => String(port)}
            empty={<p>No program listens on a port.</p>}
          />
        )}
      </Show>
    </>
  );
}
