// Owners: what they run, and the quotas that bound them.
import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { AdmissionDecision } from '../../../src/schema/admission.ts';
import type { Quota, QuotaCheck, QuotaUsage } from '../../../src/schema/quota.ts';
import { call, type Failure, json } from '../api/call.ts';
import * as census from '../app/census.ts';
import { href, place, setQuery } from '../app/router.ts';
import { identity } from '../app/session.ts';
import { Dialog, type Field, filled } from '../parts/dialog.tsx';
import { Failed, Show, useGet } from '../parts/load.tsx';
import { Filter, Screen } from '../parts/screen.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Facts, Link, State, shown } from '../parts/text.tsx';

interface OwnerRow extends Partial<Quota> {
  owner_id: string;
  active: number;
  memory_mb: number;
}

const encoded = encodeURIComponent;

export function Owners(): JSX.Element {
  const quotas = useGet<Quota[]>('quotas', { limit: 1000 }, 10_000);
  const mayChange = identity()?.administers === true;
  const filter = (place.value.query.get('q') ?? '').toLowerCase();
  const owners = useGet<QuotaUsage[]>(
    mayChange ? 'admin/owners' : undefined,
    { q: filter, limit: 1000 },
    30_000,
  );
  const [changing, setChanging] = useState<Partial<OwnerRow> | undefined>();
  const [removing, setRemoving] = useState<string | undefined>();
  const [showing, setShowing] = useState<string | undefined>();
  const version = census.version.value;
  const rows = useMemo(
    () =>
      rowsOf(quotas.data ?? [], owners.data ?? []).filter(({ owner_id }) =>
        owner_id.toLowerCase().includes(filter),
      ),
    [quotas.data, owners.data, version, filter],
  );
  const columns = columnsOf({ mayChange, change: setChanging, remove: setRemoving, show: setShowing });
  return (
    <Screen
      title="Owners and quotas"
      actions={
        mayChange && (
          <button type="button" class="primary" onClick={() => setChanging({})}>
            Set a quota
          </button>
        )
      }
    >
      <Filter />
      <Show of={quotas}>
        {() => (
          <Table
            label="Owners"
            rows={rows}
            columns={columns}
            keyOf={({ owner_id }) => owner_id}
            sort={place.value.query.get('sort') ?? '-active'}
            onSort={(sort) => setQuery({ sort })}
            empty={<p>No owner has a sandbox or a quota.</p>}
          />
        )}
      </Show>
      {showing !== undefined && <InForce owner={showing} />}
      {changing && (
        <Dialog
          title={changing.owner_id === undefined ? 'Set a quota' : `Quota of ${changing.owner_id}`}
          fields={fieldsOf(changing)}
          action="Set quota"
          foresee={async ({ owner_id = changing.owner_id ?? '', ...values }, signal) => {
            if (owner_id.trim() === '') return '';
            const body = filled(values, ['max_sandboxes']);
            return foretold(await json('POST', `quotas/${encoded(owner_id)}/check`, { body, signal }));
          }}
          run={async ({ owner_id = changing.owner_id ?? '', ...values }) => {
            await json('PUT', `quotas/${encoded(owner_id)}`, { body: filled(values, ['max_sandboxes']) });
            quotas.again();
          }}
          onClose={() => setChanging(undefined)}
        />
      )}
      {removing !== undefined && (
        <Dialog
          title={`Delete the quota of ${removing}`}
          text="The limits of the server then apply to this owner."
          action="Delete"
          danger
          run={async () => {
            await call('DELETE', `quotas/${encoded(removing)}`);
            quotas.again();
          }}
          onClose={() => setRemoving(undefined)}
        />
      )}
    </Screen>
  );
}

/** What a quota would change, in words. */
function foretold({ active_sandboxes, after, over, free, longer }: QuotaCheck): string {
  const count =
    over > 0
      ? `${active_sandboxes} sandboxes go on, ${over} above the limit: new ones are refused until as many have ended.`
      : free === undefined
        ? `${active_sandboxes} sandboxes, without a limit.`
        : `${active_sandboxes} of ${after.max_sandboxes} sandboxes: ${free} more could start.`;
  return longer === 0
    ? count
    : `${count} ${longer} of them end later than a lifetime of ${after.max_ttl} from now.`;
}

function rowsOf(quotas: readonly Quota[], owners: readonly QuotaUsage[]): OwnerRow[] {
  const rows = new Map<string, OwnerRow>();
  for (const quota of quotas) rows.set(quota.owner_id, { ...quota, active: 0, memory_mb: 0 });
  for (const { owner_id } of owners)
    if (!rows.has(owner_id)) rows.set(owner_id, { owner_id, active: 0, memory_mb: 0 });
  for (const { owner_id, memory_mb } of census.sandboxes()) {
    if (owner_id === undefined) continue;
    const row = rows.get(owner_id) ?? { owner_id, active: 0, memory_mb: 0 };
    rows.set(owner_id, Object.assign(row, { active: row.active + 1, memory_mb: row.memory_mb + memory_mb }));
  }
  return [...rows.values()];
}

interface Actions {
  mayChange: boolean;
  change(row: OwnerRow): void;
  remove(owner: string): void;
  show(owner: string): void;
}

function columnsOf({ mayChange, change, remove, show }: Actions): readonly Column<OwnerRow>[] {
  const small = (text: string, owner: string, act: () => void) => (
    <button type="button" class="small" aria-label={`${text}: ${shown(owner)}`} onClick={act}>
      {text}
    </button>
  );
  return [
    {
      id: 'owner',
      title: 'Owner',
      value: ({ owner_id }) => owner_id,
      cell: ({ owner_id }) => <a href={href('sandboxes', { q: owner_id })}>{shown(owner_id)}</a>,
    },
    {
      id: 'active',
      title: 'Sandboxes',
      width: '7rem',
      value: ({ active }) => active,
      cell: ({ active }) => active,
    },
    {
      id: 'memory',
      title: 'Memory limits',
      width: '9rem',
      value: ({ memory_mb }) => memory_mb,
      cell: ({ memory_mb }) => `${memory_mb} MiB`,
    },
    {
      id: 'most',
      title: 'At most',
      width: '7rem',
      value: ({ max_sandboxes }) => max_sandboxes,
      cell: ({ max_sandboxes }) => max_sandboxes ?? '',
    },
    { id: 'ttl', title: 'Lifetime', width: '7rem', cell: ({ max_ttl }) => max_ttl ?? '' },
    {
      id: 'do',
      title: 'Actions',
      width: '16rem',
      cell: (row) => (
        <>
          {small('In force', row.owner_id, () => show(row.owner_id))}{' '}
          {mayChange && small('Change', row.owner_id, () => change(row))}{' '}
          {mayChange &&
            row.created_at !== undefined &&
            small('Delete', row.owner_id, () => remove(row.owner_id))}
        </>
      ),
    },
  ];
}

function fieldsOf({
  owner_id,
  max_sandboxes,
  max_ttl,
  max_exec_timeout,
}: Partial<OwnerRow>): readonly Field[] {
  const owner: Field[] = owner_id === undefined ? [{ name: 'owner_id', label: 'Owner', required: true }] : [];
  return [
    ...owner,
    { name: 'max_sandboxes', label: 'Sandboxes at most', kind: 'number', value: String(max_sandboxes ?? '') },
    {
      name: 'max_ttl',
      label: 'Longest lifetime',
      value: max_ttl ?? '',
      hint: 'For example 2h. Empty: the limit of the server.',
    },
    { name: 'max_exec_timeout', label: 'Longest command', value: max_exec_timeout ?? '' },
  ];
}

function InForce({ owner }: { owner: string }): JSX.Element {
  const usage = useGet<QuotaUsage>(`quotas/${encoded(owner)}/usage`, {}, 5000);
  return (
    <section class="card">
      <h2>In force for {shown(owner)}</h2>
      <Show of={usage}>{(facts) => <Facts of={facts} except={['owner_id']} />}</Show>
      <WhatIf owner={owner} />
    </section>
  );
}

/** What a spawn of this owner would get now; nothing is started. */
function WhatIf({ owner }: { owner: string }): JSX.Element {
  const [ttl, setTtl] = useState('');
  const [answer, setAnswer] = useState<{ decision?: AdmissionDecision; failure?: Failure }>({});
  useEffect(() => {
    const stop = new AbortController();
    const body = { owner_id: owner, ...(ttl !== '' && { ttl }) };
    json<AdmissionDecision>('POST', 'sandboxes/admission', { body, signal: stop.signal }).then(
      (decision) => setAnswer({ decision }),
      (failure) => stop.signal.aborted || setAnswer({ failure: failure as Failure }),
    );
    return () => stop.abort();
  }, [owner, ttl]);
  const { decision, failure } = answer;
  return (
    <>
      <h3>If this owner started a sandbox now</h3>
      <label class="field">
        <span>Lifetime</span>
        <input
          value={ttl}
          placeholder="the default"
          autoComplete="off"
          onChange={(event) => setTtl(event.currentTarget.value.trim())}
        />
      </label>
      {failure && <Failed failure={failure} />}
      {decision && (
        <p role="status">
          <State of={decision.allowed ? 'allowed' : decision.queueable ? 'queued' : 'denied'} />{' '}
          {decision.message ?? `It would start on ${decision.provider}.`}{' '}
          {decision.max_owner_sandboxes
            ? `${decision.active_owner_sandboxes ?? 0} of ${decision.max_owner_sandboxes} sandboxes are in use.`
            : ''}{' '}
          <Link to="spawn">With other values</Link>
        </p>
      )}
    </>
  );
}
