// Links to ports of a sandbox.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { PreviewLink } from '../../../../src/schema/preview.ts';
import { json } from '../../api/call.ts';
import { Failed } from '../../parts/load.tsx';
import { Copy, Time } from '../../parts/text.tsx';
import type { TabProps } from './sandbox.tsx';

export function Ports({ id, sandbox }: TabProps): JSX.Element {
  const [links, setLinks] = useState<PreviewLink[]>([]);
  const [failure, setFailure] = useState<Error | undefined>();
  const submit = async (event: Event) => {
    event.preventDefault();
    const port = Number(new FormData(event.target as HTMLFormElement).get('port'));
    setFailure(undefined);
    try {
      const link = await json<PreviewLink>('POST', `sandboxes/${id}/previews`, { body: { port } });
      setLinks((now) => [link, ...now]);
    } catch (error) {
      setFailure(error as Error);
    }
  };
  return (
    <>
      {sandbox.preview_domain === undefined && (
        <p class="hint">
          Previews are off for this sandbox. The key <code>server.preview_domain</code> turns them on.
        </p>
      )}
      <form class="filters" onSubmit={submit}>
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
    </>
  );
}
