// Starts a sandbox: from an image or a template, with what a spawn would get now.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { AdmissionDecision } from '../../../src/schema/admission.ts';
import type { Sandbox } from '../../../src/schema/sandbox.ts';
import type { Template } from '../../../src/schema/template.ts';
import { Failure, json, patiently } from '../api/call.ts';
import { loadOne } from '../app/census.ts';
import { go, place } from '../app/router.ts';
import { type Field, FieldRow, filled, pairsOf } from '../parts/dialog.tsx';
import { Failed, useGet } from '../parts/load.tsx';
import { randomKey } from '../parts/random-key.ts';
import { Screen } from '../parts/screen.tsx';
import { State } from '../parts/text.tsx';

const FIELDS: readonly Field[] = [
  { name: 'image', label: 'Image', hint: 'Empty: the default image of the server, or that of the template.' },
  { name: 'provider', label: 'Provider', hint: 'Empty: the server chooses.' },
  { name: 'memory_mb', label: 'Memory in MiB', kind: 'number' },
  { name: 'vcpus', label: 'Processors', kind: 'number' },
  { name: 'ttl', label: 'Lifetime', hint: 'For example 30m or 2h.' },
  { name: 'network', label: 'Network', hint: 'Empty: the default of the provider. none: no network.' },
  { name: 'owner_id', label: 'Owner' },
  { name: 'metadata', label: 'Labels', kind: 'area', hint: 'name=value in each line.' },
  { name: 'env', label: 'Environment', kind: 'area', hint: 'NAME=value in each line.' },
];
const ASK_MS = 300;

function requestOf(form: HTMLFormElement): Record<string, unknown> {
  const values = Object.fromEntries(new FormData(form)) as Record<string, string>;
  const { metadata = '', env = '', ...rest } = values;
  const request = filled(rest, ['memory_mb', 'vcpus']);
  if (metadata.trim() !== '') request.metadata = pairsOf(metadata);
  if (env.trim() !== '') request.env = pairsOf(env);
  return request;
}

export function SpawnScreen(): JSX.Element {
  const form = useRef<HTMLFormElement>(null);
  const templates = useGet<Template[]>('templates', { limit: 1000 });
  const [failure, setFailure] = useState<Error | undefined>();
  const [decision, setDecision] = useState<AdmissionDecision | undefined>();
  const [busy, setBusy] = useState(false);
  /** Of what is in the form: one that is sent again after a lost answer starts nothing twice. */
  const idempotencyKey = useRef(randomKey());
  const asking = useRef(new AbortController());
  const ask = () => {
    asking.current.abort();
    idempotencyKey.current = randomKey();
    const own = new AbortController();
    asking.current = own;
    const decide = async () => {
      await new Promise((resolve) => setTimeout(resolve, ASK_MS));
      own.signal.throwIfAborted();
      const body = requestOf(form.current as HTMLFormElement);
      const question = { body, signal: own.signal };
      return patiently(() => json<AdmissionDecision>('POST', 'sandboxes/admission', question), own.signal);
    };
    const show = (found: AdmissionDecision | undefined, problem?: Error) => {
      if (own.signal.aborted) return;
      setDecision(found);
      setFailure(problem);
    };
    decide().then(show, (problem: Error) => show(undefined, problem));
  };
  useEffect(() => {
    ask();
    return () => asking.current.abort();
  }, []);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setFailure(undefined);
    try {
      const body = requestOf(form.current as HTMLFormElement);
      const headers = { 'Idempotency-Key': idempotencyKey.current };
      const { id } = await json<Sandbox>('POST', 'sandboxes', { body, headers });
      await loadOne(id);
      go(`sandboxes/${id}`);
    } catch (error) {
      // A spawn that was refused is asked for anew; one whose answer was lost is not.
      if (error instanceof Failure && error.status > 0 && error.status < 500)
        idempotencyKey.current = randomKey();
      setFailure(error as Error);
      setBusy(false);
    }
  };
  const names = ['', ...(templates.data ?? []).map(({ name }) => name)];
  const template: Field = {
    ...{ name: 'template', label: 'Template', options: names },
    value: place.value.query.get('template') ?? '',
  };
  return (
    <Screen title="New sandbox">
      <form ref={form} class="form" onSubmit={submit} onInput={ask}>
        <FieldRow key={names.length} field={template} />
        {FIELDS.map((field) => (
          <FieldRow key={field.name} field={field} />
        ))}
        {decision && <Decision of={decision} />}
        {failure && <Failed failure={failure} />}
        <p class="buttons">
          <button type="submit" class="primary" disabled={busy}>
            {busy ? 'Starting …' : 'Start sandbox'}
          </button>
        </p>
      </form>
    </Screen>
  );
}

function Decision({
  of: { allowed, queueable, message, provider, queue_depth },
}: {
  of: AdmissionDecision;
}): JSX.Element {
  const wait = queueable ? `It would wait behind ${queue_depth} others.` : '';
  return (
    <p role="status">
      <State of={allowed ? 'allowed' : queueable ? 'queued' : 'denied'} />{' '}
      {allowed
        ? `The sandbox would start now${provider ? ` on ${provider}` : ''}.`
        : `${message ?? ''} ${wait}`}
    </p>
  );
}
