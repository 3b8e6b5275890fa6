// One sandbox: what it is, and tabs for what one does with it. An ended one shows why it ended as long as its row is kept.
import type { ComponentType, JSX } from 'preact';
import { useCallback, useEffect, useState } from 'preact/hooks';
import type { Event } from '../../../../src/schema/event.ts';
import type { Sandbox } from '../../../../src/schema/sandbox.ts';
import { call, type Failure, json } from '../../api/call.ts';
import { loadOne } from '../../app/census.ts';
import { go, place, setQuery } from '../../app/router.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { Failed, useEvents, useGet } from '../../parts/load.tsx';
import { Screen } from '../../parts/screen.tsx';
import { Copy, Facts, State, shown, Time } from '../../parts/text.tsx';
import { Commands } from './commands.tsx';
import { SandboxEgress } from './egress.tsx';
import { Files } from './files.tsx';
import { Logs } from './logs.tsx';
import { Ports } from './ports.tsx';
import { Timeline } from './timeline.tsx';
import { SandboxUsageTab } from './usage.tsx';

export interface TabProps {
  id: string;
  sandbox: Sandbox;
}

const TABS: readonly { id: string; title: string; tab: ComponentType<TabProps> }[] = [
  { id: 'overview', title: 'Overview', tab: Overview },
  { id: 'terminal', title: 'Terminal', tab: LazyTerminal },
  { id: 'files', title: 'Files', tab: Files },
  { id: 'logs', title: 'Logs', tab: Logs },
  { id: 'commands', title: 'Commands', tab: Commands },
  { id: 'ports', title: 'Ports', tab: Ports },
  { id: 'egress', title: 'Egress', tab: SandboxEgress },
  { id: 'usage', title: 'Usage', tab: SandboxUsageTab },
];

export function SandboxScreen({ rest }: { rest: string }): JSX.Element {
  const id = rest.split('/')[0] ?? '';
  const loaded = useGet<Sandbox>(`sandboxes/${encodeURIComponent(id)}`, {}, 20_000);
  const [asking, setAsking] = useState<'end' | 'extend' | undefined>();
  const isOfThis = useCallback(({ sandbox_id }: Event) => sandbox_id === id, [id]);
  useEvents(isOfThis, loaded.again);
  const { data: sandbox, failure } = loaded;
  if (failure && (!sandbox || failure.status === 404))
    return (
      <Screen title={id}>
        <Gone id={id} failure={failure} again={loaded.again} />
      </Screen>
    );
  if (!sandbox)
    return (
      <Screen title={id}>
        <p class="loading">Loading …</p>
      </Screen>
    );
  const actions = (
    <>
      <button type="button" onClick={() => setAsking('extend')}>
        Extend
      </button>
      <button type="button" class="danger" onClick={() => setAsking('end')}>
        End sandbox
      </button>
    </>
  );
  return (
    <Screen title={id} actions={actions}>
      <p>
        <State of={sandbox.state} />
        {sandbox.owner_id && <>, owner {shown(sandbox.owner_id)}</>}, created <Time at={sandbox.created_at} />
        , expires <Time at={sandbox.expires_at} />
      </p>
      <Tabs sandbox={sandbox} />
      {asking === 'end' && <End id={id} onClose={() => setAsking(undefined)} />}
      {asking === 'extend' && <Extend id={id} onClose={() => setAsking(undefined)} again={loaded.again} />}
    </Screen>
  );
}

/** The server says of an ended sandbox why it has ended, as long as it knows it. */
function Gone({ id, failure, again }: { id: string; failure: Failure; again(): void }): JSX.Element {
  const { ended_at, end_reason, ended_by = 'unknown' } = failure.details;
  if (typeof ended_at !== 'string')
    return (
      <>
        <Failed failure={failure} again={again} />
        <p class="hint">The server keeps the row of an ended sandbox for a time, and deletes it then.</p>
      </>
    );
  return (
    <>
      <p role="status">
        <State of="ended" /> <Time at={ended_at} />: {shown(String(end_reason))} by {shown(String(ended_by))}
      </p>
      <h2>Events</h2>
      <Timeline id={id} />
      <h2>What it used</h2>
      <SandboxUsageTab id={id} />
    </>
  );
}

function Tabs({ sandbox }: { sandbox: Sandbox }): JSX.Element {
  const chosen = place.value.query.get('tab') ?? 'overview';
  const current = TABS.find(({ id }) => id === chosen) ?? TABS[0]!;
  const move = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (step === 0) return;
    const next = TABS[(TABS.indexOf(current) + step + TABS.length) % TABS.length]!;
    setQuery({ tab: next.id });
    document.getElementById(`tab-${next.id}`)?.focus();
  };
  const { tab: Tab } = current;
  return (
    <>
      <div role="tablist" aria-label="Parts of the sandbox" class="tabs" onKeyDown={move}>
        {TABS.map(({ id, title }) => (
          <button
            type="button"
            role="tab"
            key={id}
            id={`tab-${id}`}
            aria-selected={id === current.id}
            aria-controls="tab-panel"
            tabIndex={id === current.id ? 0 : -1}
            onClick={() => setQuery({ tab: id })}
          >
            {title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id="tab-panel" aria-labelledby={`tab-${current.id}`}>
        <Tab key={current.id} id={sandbox.id} sandbox={sandbox} />
      </div>
    </>
  );
}

function Overview({ id, sandbox }: TabProps): JSX.Element {
  const { warnings = [] } = sandbox;
  return (
    <>
      {warnings.map((warning) => (
        <p key={warning} class="hint">
          ▲ {shown(warning)}
        </p>
      ))}
      <Facts of={sandbox} except={['warnings', 'id', 'state']} />
      <h2>Commands for a terminal of your own</h2>
      <p>
        <code>svc sandbox shell {shown(id)}</code> <Copy text={`svc sandbox shell ${id}`} />
      </p>
      <h2>Events</h2>
      <Timeline id={id} />
    </>
  );
}

function LazyTerminal(props: TabProps): JSX.Element {
  const [Found, setFound] = useState<ComponentType<TabProps> | undefined>();
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    import('../../terminal.tsx').then(
      ({ TerminalTab }) => setFound(() => TerminalTab),
      () => setFailed(true),
    );
  }, []);
  if (failed) return <p class="failed">The terminal could not be loaded. Load the page again.</p>;
  return Found ? <Found {...props} /> : <p class="loading">Loading …</p>;
}

function End({ id, onClose }: { id: string; onClose(): void }): JSX.Element {
  return (
    <Dialog
      title={`End ${id}`}
      text="Its processes and its files are lost. This cannot be undone."
      action="End sandbox"
      danger
      run={async () => {
        await call('DELETE', `sandboxes/${id}`);
        await loadOne(id);
        go('sandboxes');
      }}
      onClose={onClose}
    />
  );
}

function Extend({ id, onClose, again }: { id: string; onClose(): void; again(): void }): JSX.Element {
  return (
    <Dialog
      title={`Extend ${id}`}
      text="The sandbox then expires no earlier than this time from now."
      fields={[
        { name: 'ttl', label: 'Time from now', value: '1h', required: true, hint: 'For example 15m or 2h.' },
      ]}
      action="Extend"
      run={async ({ ttl }) => {
        await json('POST', `sandboxes/${id}/extend`, { body: { ttl } });
        await loadOne(id);
        again();
      }}
      onClose={onClose}
    />
  );
}
