// Calls one operation and shows its answer.
import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { addressOf, call, Failure } from '../../api/call.ts';
import { Failed } from '../../parts/load.tsx';
import { LogBox } from '../../parts/log-box.tsx';
import { Copy, shown2 } from '../../parts/text.tsx';
import { type Entry, exampleOf } from './description.ts';

const MOST_SHOWN = 64 * 1024;
const WAIT_MS = 30_000;
const PREFIX = '/api/v1/';

interface Reply {
  status: number;
  type: string;
  text: string;
}

/** Paths of the description contain the prefix or are relative to the server's address that it names. */
const relative = (path: string) =>
  path.startsWith(PREFIX) ? path.slice(PREFIX.length) : path.replace(/^\//, '');

export function TryIt({ entry }: { entry: Entry }): JSX.Element {
  const { method, path, parameters } = entry;
  const form = useRef<HTMLFormElement>(null);
  const [reply, setReply] = useState<Reply | undefined>();
  const [failure, setFailure] = useState<Error | undefined>();
  const [busy, setBusy] = useState(false);
  const example = exampleOf(entry);
  const fields = parameters.filter(({ in: where }) => where !== 'header');
  const request = () => {
    const data = new FormData(form.current as HTMLFormElement);
    const text = (name: string) => String(data.get(name) ?? '');
    const filledPath = relative(path).replace(/\{(\w+)\}/g, (_all, name: string) =>
      encodeURIComponent(text(name)),
    );
    const query = Object.fromEntries(
      fields.filter(({ in: where }) => where === 'query').map(({ name }) => [name, text(name)]),
    );
    return { path: filledPath, query, body: text('body') };
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setFailure(undefined);
    setReply(undefined);
    try {
      const { path: target, query, body } = request();
      const signal = AbortSignal.timeout(WAIT_MS);
      const answer = await call(method, target, {
        query,
        signal,
        eager: true,
        ...(body !== '' && { body: JSON.parse(body) }),
      });
      const text = (await answer.text()).slice(0, MOST_SHOWN);
      setReply({
        status: answer.status,
        type: answer.headers.get('Content-Type') ?? '',
        text: indented(text),
      });
    } catch (error) {
      setFailure(error instanceof Failure ? error : new Error((error as Error).message));
    } finally {
      setBusy(false);
    }
  };
  const curl = () => {
    const { path: target, query, body } = request();
    const parts = [`curl -X ${method} -H "X-API-Key: $SVC_API_KEY" '${addressOf(target, query)}'`];
    if (body !== '') parts.push(`-H 'Content-Type: application/json' -d '${body.replaceAll("'", "'\\''")}'`);
    return parts.join(' ');
  };
  return (
    <>
      <h3>Try it</h3>
      <form ref={form} class="form" onSubmit={submit}>
        {fields.map(({ name, required }) => (
          <label class="field" key={name}>
            <span>{name}</span>
            <input name={name} required={required === true} autoComplete="off" spellcheck={false} />
          </label>
        ))}
        {example !== '' && (
          <label class="field">
            <span>Body</span>
            <textarea name="body" rows={6} defaultValue={example} spellcheck={false} />
          </label>
        )}
        <p class="buttons">
          <button type="submit" class={method === 'DELETE' ? 'danger' : 'primary'} disabled={busy}>
            {busy ? 'Calling …' : `${method} now`}
          </button>
          <CopyCurl text={curl} />
        </p>
      </form>
      {failure && <Failed failure={failure} />}
      {reply && (
        <>
          <p role="status">
            Status {reply.status}, {reply.type || 'no content'}
          </p>
          <LogBox label="Answer" text={shown2(reply.text)} />
        </>
      )}
    </>
  );
}

function CopyCurl({ text }: { text(): string }): JSX.Element {
  const [curl, setCurl] = useState<string | undefined>();
  if (curl !== undefined)
    return (
      <>
        <code>{curl}</code> <Copy text={curl} />
      </>
    );
  return (
    <button type="button" onClick={() => setCurl(text())}>
      Show as curl
    </button>
  );
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
