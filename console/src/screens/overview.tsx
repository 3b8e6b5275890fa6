// What runs, what is ill, and what failed last.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Event } from '../../../src/schema/event.ts';
import type { ProviderItem as Provider } from '../../../src/schema/provider.ts';
import type { Health } from '../../../src/schema/system.ts';
import type { LiveSandbox, LiveUsage } from '../../../src/schema/usage.ts';
import * as census from '../app/census.ts';
import { href } from '../app/router.ts';
import { identity } from '../app/session.ts';
import { onEvent } from '../app/stream.ts';
import { type Loaded, Show, useGet } from '../parts/load.tsx';
import { Card, Screen } from '../parts/screen.tsx';
import { Copy, Link, State, shown, sizeText, Time } from '../parts/text.tsx';
import { merged, storedEvents } from './stored-events.ts';

interface Numbers {
  process: { uptime_seconds: number; resident_memory_bytes: number };
  store: { status: string; latency_ms: number };
  scheduler: { spawn_queue_depth: number; max_spawn_queue: number };
  workers: { total: number; stale: number; by_status: Record<string, number> };
}

const FAILURES = 'operation.failed,provider.failed,sandbox.error,image.failed,resource.limit';
const MOST_FAILURES = 10;
const MOST_USED = 10;
/** The end of the scale unless more is used. */
const ONE_PROCESSOR = 100;

/** All that this screen asks is at most 15 calls a minute: they count against the caller's rate. */
export function Overview(): JSX.Element {
  const who = identity();
  const numbers = useGet<Numbers>('metrics', {}, 15_000);
  const providers = useGet<Provider[]>('providers', {}, 30_000);
  const health = useGet<Health>('health', {}, 30_000);
  const [by, setBy] = useState<By>('cpu');
  const usage = useGet<LiveUsage>('usage/sandboxes', { sort: by, limit: MOST_USED }, 10_000);
  const counts = countStates();
  if (!census.isLoading.value && counts.total === 0 && census.failure.value === undefined) return <First />;
  return (
    <Screen title="Overview" actions={NEW}>
      <div class="figures">
        <Figure value={counts.running} title="running" to="sandboxes?state=running" />
        <Figure value={counts.creating} title="creating" to="sandboxes?state=creating" />
        <Figure value={counts.unhealthy} title="unhealthy" to="sandboxes?state=unhealthy" />
        <Figure
          value={numbers.data?.scheduler.spawn_queue_depth}
          title={`waiting of ${numbers.data?.scheduler.max_spawn_queue ?? '…'}`}
        />
        <Figure value={numbers.data?.workers.total} title="workers" to="workers" />
        <Machine of={usage.data} />
      </div>
      <div class="cards">
        <MostUsed of={usage} by={by} setBy={setBy} />
        <Card title="Providers">
          <Show of={providers}>
            {(rows) => (
              <ul class="plain">
                {rows.map(({ name, healthy, error }) => (
                  <li key={name}>
                    <Link to={`providers/${name}`}>{name}</Link>{' '}
                    <State of={healthy ? 'healthy' : 'unhealthy'} />
                    {error && <div class="hint">{shown(error)}</div>}
                  </li>
                ))}
              </ul>
            )}
          </Show>
        </Card>
        <Card title="Service">
          <Show of={health}>
            {({ status, warnings = [] }) => (
              <>
                <p>
                  <State of={status} />
                </p>
                {warnings.map((warning) => (
                  <p key={warning} class="hint">
                    {shown(warning)}
                  </p>
                ))}
              </>
            )}
          </Show>
          {numbers.data && (
            <p>
              Version {shown(who?.version ?? '…')}, memory{' '}
              {sizeText(numbers.data.process.resident_memory_bytes)}, database{' '}
              {shown(numbers.data.store.status)} in {numbers.data.store.latency_ms.toFixed(1)} ms
            </p>
          )}
        </Card>
        <Owners />
        <Failures />
      </div>
    </Screen>
  );
}

/** The machine of the server, for callers that see all of it. */
function Machine({ of: usage }: { of: LiveUsage | undefined }): JSX.Element | null {
  if (!usage?.host) return null;
  const { cpus, cpu_percent, memory_bytes, memory_total_bytes } = usage.host;
  return (
    <>
      <Figure value={`${Math.round(cpu_percent)} %`} title={`of ${cpus} processors`} />
      <Figure value={sizeText(memory_bytes)} title={`memory of ${sizeText(memory_total_bytes)}`} />
    </>
  );
}

const BY = { cpu: 'processor', memory: 'memory', network: 'network' } as const;
type By = keyof typeof BY;

const AMOUNTS: Record<By, { of(one: LiveSandbox): number | undefined; text(amount: number): string }> = {
  cpu: { of: ({ cpu_percent }) => cpu_percent, text: (amount) => `${Math.round(amount)} %` },
  memory: { of: ({ memory_bytes }) => memory_bytes, text: sizeText },
  network: {
    of: ({ rx_bytes_per_second: rx, tx_bytes_per_second: tx }) =>
      rx === undefined && tx === undefined ? undefined : (rx ?? 0) + (tx ?? 0),
    text: (amount) => `${sizeText(amount)}/s`,
  },
};

/** The answer to: which sandbox eats my machine. */
function MostUsed({
  of: usage,
  by,
  setBy,
}: {
  of: Loaded<LiveUsage>;
  by: By;
  setBy(by: By): void;
}): JSX.Element {
  return (
    <section class="card wide">
      <div class="card-head">
        <h2>Sandboxes that use most</h2>
        <label>
          <span class="visually-hidden">By</span>
          <select value={by} onChange={(event) => setBy(event.currentTarget.value as By)}>
            {Object.entries(BY).map(([name, title]) => (
              <option key={name} value={name}>
                {title}
              </option>
            ))}
          </select>
        </label>
      </div>
      <Show of={usage}>{({ sandboxes }) => <Bars rows={sandboxes} by={by} />}</Show>
    </section>
  );
}

function Bars({ rows, by }: { rows: readonly LiveSandbox[]; by: By }): JSX.Element {
  const { of, text } = AMOUNTS[by];
  const known = rows.flatMap((one) => {
    const amount = of(one);
    return amount === undefined ? [] : [{ ...one, amount }];
  });
  if (known.length === 0) return <p class="hint">Nothing was measured yet, or the host does not count it.</p>;
  const most = Math.max(known[0]?.amount ?? 0, by === 'cpu' ? ONE_PROCESSOR : 1);
  return (
    <ul class="bars used">
      {known.map(({ sandbox_id, owner_id, amount }) => (
        <li key={sandbox_id}>
          <Link to={`sandboxes/${sandbox_id}?tab=usage`}>{sandbox_id}</Link>
          <span class="cut">{shown(owner_id ?? '')}</span>
          <meter aria-label={`${BY[by]} of ${shown(sandbox_id)}`} min={0} max={most} value={amount} />
          <span>{text(amount)}</span>
        </li>
      ))}
    </ul>
  );
}

function countStates() {
  void census.version.value;
  const counts = { total: 0, running: 0, creating: 0, unhealthy: 0 };
  for (const { state } of census.sandboxes()) {
    counts.total += 1;
    if (state in counts) counts[state as keyof typeof counts] += 1;
  }
  return counts;
}

function Figure({
  value,
  title,
  to,
}: {
  value: number | string | undefined;
  title: string;
  to?: string;
}): JSX.Element {
  const inner = (
    <>
      <strong>{value ?? '…'}</strong> <span>{title}</span>
    </>
  );
  if (to === undefined) return <div class="figure">{inner}</div>;
  const [path = '', query = ''] = to.split('?');
  const [name = '', text] = query.split('=');
  return (
    <a class="figure" href={href(path, text === undefined ? {} : { [name]: text })}>
      {inner}
    </a>
  );
}

/** Owners with the most sandboxes. */
function Owners(): JSX.Element {
  void census.version.value;
  const counts = new Map<string, number>();
  for (const { owner_id = 'no owner' } of census.sandboxes())
    counts.set(owner_id, (counts.get(owner_id) ?? 0) + 1);
  const top = [...counts].sort(([, a], [, b]) => b - a).slice(0, 10);
  const most = top[0]?.[1] ?? 1;
  return (
    <Card title="Owners with the most sandboxes">
      <ul class="bars">
        {top.map(([owner, count]) => (
          <li key={owner}>
            <a href={href('sandboxes', { q: owner === 'no owner' ? '' : owner })}>{shown(owner)}</a>
            <meter aria-label={`Sandboxes of ${shown(owner)}`} min={0} max={most} value={count} />
            <span>{count}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Failures(): JSX.Element {
  const [live, setLive] = useState<Event[] | undefined>(undefined);
  useEffect(() => {
    const stop = new AbortController();
    const add = (more: readonly Event[]) => setLive((now = []) => merged(now, more, MOST_FAILURES));
    storedEvents({ type: FAILURES }, MOST_FAILURES, stop.signal).then(add, () => undefined);
    const off = onEvent((event) => FAILURES.split(',').includes(event.type) && add([event]));
    return () => {
      stop.abort();
      off();
    };
  }, []);
  return (
    <Card title="Last failures">
      {live === undefined ? (
        <p class="loading">Loading …</p>
      ) : live.length === 0 ? (
        <p class="hint">None of those that are stored.</p>
      ) : (
        <ul class="plain">
          {live.toReversed().map(({ id, type, timestamp, sandbox_id, data }) => (
            <li key={id}>
              <Time at={timestamp} /> {type}{' '}
              {sandbox_id && <Link to={`sandboxes/${sandbox_id}`}>{sandbox_id}</Link>}
              <div class="hint">{shown(String(data?.message ?? data?.error ?? ''))}</div>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

const NEW = (
  <a class="button primary" href={href('spawn')}>
    New sandbox
  </a>
);
const COMMANDS = ['svc sandbox create', "svc sandbox run -- sh -c 'echo hello'", 'svc sandbox list'];

function First(): JSX.Element {
  return (
    <Screen title="Overview" actions={NEW}>
      <p>No sandbox runs. Start one here, or with a command:</p>
      <ul class="plain">
        {COMMANDS.map((command) => (
          <li key={command}>
            <code>{command}</code> <Copy text={command} />
          </li>
        ))}
      </ul>
    </Screen>
  );
}
