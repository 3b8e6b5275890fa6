// What one sandbox uses: now, over the last minutes or hours, and in all.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { GuestUsage } from '../../../../src/schema/guest-usage.ts';
import type { SandboxUsage } from '../../../../src/schema/usage.ts';
import { Graph, type GraphPoint } from '../../parts/graph.tsx';
import { Show, useGet } from '../../parts/load.tsx';
import { Facts, sizeText } from '../../parts/text.tsx';
import type { TabProps } from './sandbox.tsx';

type Point = SandboxUsage['points'][number];
const percent = (value: number) => `${Math.round(value * 10) / 10} %`;
const perSecond = (value: number) => `${sizeText(value)}/s`;

const GRAPHS: readonly { title: string; name: keyof Point; why?: string; text(value: number): string }[] = [
  { title: 'Processor', name: 'cpu_percent', text: percent },
  { title: 'Memory', name: 'memory_bytes', text: sizeText },
  { title: 'Received', name: 'rx_bytes_per_second', why: 'network', text: perSecond },
  { title: 'Sent', name: 'tx_bytes_per_second', why: 'network', text: perSecond },
];

export function SandboxUsageTab({ id }: Pick<TabProps, 'id'>): JSX.Element {
  const [step, setStep] = useState('fine');
  const usage = useGet<SandboxUsage>(`sandboxes/${id}/usage`, { step }, 5000);
  return (
    <>
      <div class="filters">
        <label>
          <span class="visually-hidden">Time</span>
          <select value={step} onChange={(event) => setStep(event.currentTarget.value)}>
            <option value="fine">Last 10 minutes</option>
            <option value="minute">Last 6 hours</option>
          </select>
        </label>
      </div>
      <Show of={usage}>{(found) => <Found of={found} />}</Show>
    </>
  );
}

function Found({
  of: { now, missing, totals, guest, points, step_seconds },
}: {
  of: SandboxUsage;
}): JSX.Element {
  const { memory_limit_bytes, source, processes, disk_bytes } = now;
  const facts = {
    'memory at most': sizeText(memory_limit_bytes),
    processes,
    disk: disk_bytes === undefined ? undefined : sizeText(disk_bytes),
    'measured by': source,
  };
  return (
    <>
      <Facts of={facts} />
      <div class="cards">
        {GRAPHS.map(({ title, name, why, text }) => (
          <section class="card" key={name}>
            <h2>{title}</h2>
            {missing[why ?? name] === undefined ? (
              <Graph title={title} points={pointsOf(points, name)} stepSeconds={step_seconds} text={text} />
            ) : (
              <p class="hint">{missing[why ?? name]}</p>
            )}
          </section>
        ))}
      </div>
      {guest && (
        <>
          <h2>What the sandbox says of itself</h2>
          <Facts of={guestFacts(guest)} />
        </>
      )}
      {totals && (
        <>
          <h2>In all</h2>
          <Facts of={totalFacts(totals, missing)} />
        </>
      )}
    </>
  );
}

function guestFacts({ disks, memory_bytes, memory_total_bytes = 0, processes }: GuestUsage) {
  const share = (used: number, total: number) => `${sizeText(used)} of ${sizeText(total)}`;
  return {
    ...Object.fromEntries(
      disks.map(({ path, used_bytes, total_bytes }) => [`disk ${path}`, share(used_bytes, total_bytes)]),
    ),
    memory: memory_bytes === undefined ? undefined : share(memory_bytes, memory_total_bytes),
    processes,
  };
}

/** What was not measured has no number: a 0 would be one. */
function totalFacts(totals: NonNullable<SandboxUsage['totals']>, missing: SandboxUsage['missing']) {
  const { rx_bytes, tx_bytes, peak_memory_bytes, oom_kills, metered_to, ended_at } = totals;
  const network = missing.network === undefined ? `${sizeText(rx_bytes)}, ${sizeText(tx_bytes)}` : undefined;
  return {
    'processor time': `${totals.cpu_seconds.toFixed(1)} s`,
    'memory at its peak': peak_memory_bytes > 0 ? sizeText(peak_memory_bytes) : undefined,
    'memory in use': `${gibHours(totals.memory_mib_seconds)} GiB h`,
    'memory allocated': `${gibHours(totals.memory_mib_seconds_allocated)} GiB h`,
    'sandbox time': `${Math.round(totals.sandbox_seconds)} s with ${totals.vcpus} vCPU`,
    'received, sent': network,
    'processes ended for memory': oom_kills,
    commands: totals.execs,
    ended_at,
    'in the ledger until': metered_to.slice(0, 19).replace('T', ' '),
    'the end was measured': totals.estimated ? 'no: its last interval is missing' : undefined,
  };
}
const gibHours = (mibSeconds: number) => (mibSeconds / 1024 / 3600).toFixed(3);

const pointsOf = (points: readonly Point[], name: keyof Point): GraphPoint[] =>
  points.flatMap((point) => {
    const value = point[name];
    return typeof value === 'number' ? [{ at: Date.parse(point.at), value }] : [];
  });
