// Named keys and logins of the console. A new key is shown once and never kept.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Key, KeyWithSecret } from '../../../src/schema/key.ts';
import type { Session } from '../../../src/schema/session.ts';
import { call, json } from '../api/call.ts';
import { identity } from '../app/session.ts';
import { Dialog, type DialogProps, filled } from '../parts/dialog.tsx';
import { List, Screen } from '../parts/screen.tsx';
import type { Column } from '../parts/table.tsx';
import { Copy, State, shown, Time } from '../parts/text.tsx';

type Asking = Omit<DialogProps, 'onClose'>;

export function Keys(): JSX.Element {
  const [asking, setAsking] = useState<Asking | undefined>();
  const [secret, setSecret] = useState<KeyWithSecret | undefined>();
  const [stamp, setStamp] = useState(0);
  const done = (made?: KeyWithSecret) => {
    setSecret(made);
    setStamp(Date.now());
  };
  const actions = (
    <button type="button" class="primary" onClick={() => setAsking(creation(done))}>
      New key
    </button>
  );
  return (
    <Screen title="Keys and logins" actions={actions}>
      {secret && <Secret of={secret} onClose={() => setSecret(undefined)} />}
      <List
        path="admin/keys"
        page={1000}
        label="Keys"
        columns={keyColumns(setAsking, done)}
        keyOf={({ id }) => id}
        stamp={stamp}
        empty={<p>There are no named keys. A named key can be limited to one owner and to reading.</p>}
      />
      <h2>Logins of the console</h2>
      <List
        path="admin/sessions"
        label="Logins"
        columns={sessionColumns(setAsking, done)}
        keyOf={({ id }) => id}
        stamp={stamp}
        empty={<p>Nobody is logged in.</p>}
      />
      {asking && <Dialog {...asking} onClose={() => setAsking(undefined)} />}
    </Screen>
  );
}

function Secret({ of: { name, secret }, onClose }: { of: KeyWithSecret; onClose(): void }): JSX.Element {
  return (
    <section class="card" aria-live="polite">
      <h2>Key {name}</h2>
      <p>This is the only time that the key is shown.</p>
      <p>
        <code>{secret}</code> <Copy text={secret} />
      </p>
      <button type="button" onClick={onClose}>
        I have kept it
      </button>
    </section>
  );
}

type Done = (made?: KeyWithSecret) => void;

function creation(done: Done): Asking {
  return {
    ...{ title: 'New key', action: 'Make key' },
    fields: [
      { name: 'name', label: 'Name', required: true, hint: 'Lower-case letters, digits and . _ -' },
      { name: 'owner_id', label: 'Owner', hint: 'Empty: the key acts for all owners.' },
      { name: 'scope', label: 'May', options: ['read', 'use', 'admin'], value: 'use' },
      { name: 'ttl', label: 'Expires after', hint: 'For example 2160h. Empty: never.' },
    ],
    run: async ({ scope = 'use', ...values }) =>
      done(await json<KeyWithSecret>('POST', 'admin/keys', { body: { ...filled(values), scopes: [scope] } })),
  };
}

function rotation(key: Key, done: Done): Asking {
  return {
    ...{ title: `Rotate ${key.name}`, action: 'Rotate' },
    text: 'Makes a new key. The present one stays valid for the overlap, and logins that it opened end.',
    fields: [{ name: 'overlap', label: 'Overlap', value: '24h' }],
    run: async (values) =>
      done(await json<KeyWithSecret>('POST', `admin/keys/${key.id}/rotate`, { body: filled(values) })),
  };
}

function revocation(key: Key, done: Done): Asking {
  return {
    ...{ title: `Revoke ${key.name}`, action: 'Revoke', danger: true, confirm: key.name },
    text: 'The key and all that it opened end within 2 s. This cannot be undone.',
    run: async () => {
      await call('DELETE', `admin/keys/${key.id}`);
      done();
    },
  };
}

function keyColumns(ask: (asking: Asking) => void, done: Done): readonly Column<Key>[] {
  const small = (text: string, name: string, asking: Asking) => (
    <button type="button" class="small" aria-label={`${text} ${shown(name)}`} onClick={() => ask(asking)}>
      {text}
    </button>
  );
  return [
    { id: 'name', title: 'Key', value: ({ name }) => name, cell: ({ name }) => name },
    {
      id: 'state',
      title: 'State',
      width: '7rem',
      value: ({ state }) => state,
      cell: ({ state }) => <State of={state} />,
    },
    {
      id: 'owner',
      title: 'Owner',
      value: ({ owner_id }) => owner_id,
      cell: ({ owner_id }) => (owner_id === undefined ? 'all' : shown(owner_id)),
    },
    { id: 'scopes', title: 'May', width: '7rem', cell: ({ scopes }) => scopes.join(', ') },
    {
      id: 'used',
      title: 'Last used',
      width: '8rem',
      value: ({ last_used_at }) => last_used_at,
      cell: ({ last_used_at }) => <Time at={last_used_at} />,
    },
    {
      id: 'expires',
      title: 'Expires',
      width: '8rem',
      value: ({ expires_at }) => expires_at,
      cell: ({ expires_at }) => <Time at={expires_at} />,
    },
    {
      id: 'do',
      title: 'Actions',
      width: '12rem',
      cell: (key) =>
        key.state === 'active' && (
          <>
            {small('Rotate', key.name, rotation(key, done))}{' '}
            {small('Revoke', key.name, revocation(key, done))}
          </>
        ),
    },
  ];
}

function sessionColumns(ask: (asking: Asking) => void, done: Done): readonly Column<Session>[] {
  const own = identity()?.session?.id;
  const end = ({ id }: Session): Asking => ({
    ...{
      title: `End ${id}`,
      text: 'Its pages, streams and terminals close within 2 s.',
      action: 'End login',
      danger: true,
    },
    run: async () => {
      await call('DELETE', `admin/sessions/${id}`);
      done();
    },
  });
  return [
    { id: 'id', title: 'Login', width: '11rem', cell: ({ id }) => `${id}${id === own ? ' (you)' : ''}` },
    { id: 'actor', title: 'By', value: ({ actor }) => actor, cell: ({ actor }) => shown(actor) },
    {
      id: 'owner',
      title: 'Owner',
      cell: ({ owner_id }) => (owner_id === undefined ? 'all' : shown(owner_id)),
    },
    { id: 'since', title: 'Since', width: '8rem', cell: ({ created_at }) => <Time at={created_at} /> },
    { id: 'until', title: 'Ends', width: '8rem', cell: ({ expires_at }) => <Time at={expires_at} /> },
    {
      id: 'do',
      title: 'Actions',
      width: '8rem',
      cell: (session) =>
        session.id !== own && (
          <button
            type="button"
            class="small"
            aria-label={`End ${shown(session.id)}`}
            onClick={() => ask(end(session))}
          >
            End
          </button>
        ),
    },
  ];
}
