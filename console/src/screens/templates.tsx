// Templates: a list, one in detail, making, changing and deleting them.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Template } from '../../../src/schema/template.ts';
import { call, json } from '../api/call.ts';
import { go, href } from '../app/router.ts';
import { Dialog, type Field, filled, pairsOf, pairTexts } from '../parts/dialog.tsx';
import { Show, useGet } from '../parts/load.tsx';
import { List, Screen } from '../parts/screen.tsx';
import type { Column } from '../parts/table.tsx';
import { Facts, Link, shown, Time } from '../parts/text.tsx';

const COLUMNS: readonly Column<Template>[] = [
  {
    id: 'name',
    title: 'Template',
    value: ({ name }) => name,
    cell: ({ name }) => <Link to={`templates/${name}`}>{name}</Link>,
  },
  {
    id: 'owner',
    title: 'Owner',
    value: ({ owner_id }) => owner_id,
    cell: ({ owner_id = '' }) => shown(owner_id),
  },
  {
    id: 'image',
    title: 'Image',
    width: 'minmax(10rem, 2fr)',
    value: ({ image }) => image,
    cell: ({ image }) => shown(image),
  },
  {
    id: 'version',
    title: 'Version',
    width: '5rem',
    value: ({ version }) => version,
    cell: ({ version }) => version,
  },
  {
    id: 'ready',
    title: 'Ready',
    width: '7rem',
    cell: ({ ready, prewarm }) => (prewarm ? `${ready ?? 0} of ${prewarm}` : ''),
  },
  {
    id: 'updated',
    title: 'Changed',
    width: '8rem',
    value: ({ updated_at }) => updated_at,
    cell: ({ updated_at }) => <Time at={updated_at} />,
  },
];

const EVENTS = ['template.'];
const NUMBERS = ['memory_mb', 'vcpus', 'prewarm'];

function fieldsOf(template?: Template): readonly Field[] {
  const text = (name: keyof Template) => String(template?.[name] ?? '');
  const pairs = pairTexts(template?.metadata ?? {});
  return [
    { name: 'description', label: 'Description', value: text('description') },
    { name: 'image', label: 'Image', value: text('image'), required: true },
    { name: 'provider', label: 'Provider', value: text('provider') },
    { name: 'memory_mb', label: 'Memory in MiB', kind: 'number', value: text('memory_mb') },
    { name: 'vcpus', label: 'Processors', kind: 'number', value: text('vcpus') },
    { name: 'ttl', label: 'Lifetime', value: text('ttl') },
    { name: 'prewarm', label: 'Sandboxes kept ready', kind: 'number', value: text('prewarm') },
    {
      name: 'metadata',
      label: 'Labels',
      kind: 'area',
      value: pairs.join('\n'),
      hint: 'name=value in each line.',
    },
  ];
}

function bodyOf({ metadata = '', ...values }: Record<string, string>): Record<string, unknown> {
  const body = filled(values, NUMBERS);
  if (metadata.trim() !== '') body.metadata = pairsOf(metadata);
  return body;
}

export function Templates({ rest }: { rest: string }): JSX.Element {
  const [making, setMaking] = useState(false);
  if (rest !== '') return <One name={rest} />;
  return (
    <Screen
      title="Templates"
      actions={
        <button type="button" class="primary" onClick={() => setMaking(true)}>
          New template
        </button>
      }
    >
      <List
        path="templates"
        events={EVENTS}
        page={1000}
        label="Templates"
        columns={COLUMNS}
        keyOf={({ name, owner_id = '' }) => `${owner_id}/${name}`}
        onOpen={({ name }) => go(`templates/${name}`)}
        empty={
          <p>There are no templates. A template names an image, limits and a setup that spawns share.</p>
        }
      />
      {making && (
        <Dialog
          title="New template"
          fields={[{ name: 'name', label: 'Name', required: true }, ...fieldsOf()]}
          action="Make template"
          run={async (values) => {
            await json('POST', 'templates', { body: bodyOf(values) });
            go(`templates/${values.name}`);
          }}
          onClose={() => setMaking(false)}
        />
      )}
    </Screen>
  );
}

function One({ name }: { name: string }): JSX.Element {
  const loaded = useGet<Template>(`templates/${encodeURIComponent(name)}`);
  const [asking, setAsking] = useState<'change' | 'delete' | undefined>();
  const close = () => setAsking(undefined);
  const actions = loaded.data && (
    <>
      <a class="button primary" href={href('spawn', { template: name })}>
        New sandbox
      </a>
      <button type="button" onClick={() => setAsking('change')}>
        Change
      </button>
      <button type="button" class="danger" onClick={() => setAsking('delete')}>
        Delete
      </button>
    </>
  );
  return (
    <Screen title={`Template ${name}`} actions={actions}>
      <Show of={loaded}>{(template) => <Facts of={template} />}</Show>
      {asking === 'change' && loaded.data && (
        <Dialog
          title={`Change ${name}`}
          text="Sandboxes that run keep what they have."
          fields={fieldsOf(loaded.data)}
          action="Change"
          run={async (values) => {
            await json('PUT', `templates/${name}`, {
              body: changedBody(loaded.data as Template, values),
              headers: { 'If-Match': `"${loaded.data?.version}"` },
            });
            loaded.again();
          }}
          onClose={close}
        />
      )}
      {asking === 'delete' && (
        <Dialog
          title={`Delete ${name}`}
          text="Sandboxes that were spawned from it go on."
          confirm={name}
          action="Delete"
          danger
          run={async () => {
            await call('DELETE', `templates/${name}`);
            go('templates');
          }}
          onClose={close}
        />
      )}
    </Screen>
  );
}

const READ_ONLY = ['name', 'owner_id', 'version', 'ready', 'created_at', 'updated_at'];

/** A change replaces the template: what the form does not show stays. */
function changedBody(template: Template, values: Record<string, string>): Record<string, unknown> {
  if (Object.values(template.env ?? {}).includes('***'))
    throw new Error(
      'The values of its environment are hidden from you, and a change would lose them. Use svc template update.',
    );
  const shownFields = fieldsOf().map(({ name }) => name);
  const kept = Object.entries(template).filter(
    ([name]) => !READ_ONLY.includes(name) && !shownFields.includes(name),
  );
  return { ...Object.fromEntries(kept), ...bodyOf(values) };
}
