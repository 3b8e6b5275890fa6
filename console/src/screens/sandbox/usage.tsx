// What one sandbox uses: now, over the last minutes or hours, and in all.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { SandboxUsage } from '../../../../src/schema/usage.ts';
import { Graph, type GraphPoint } from '../../parts/graph.tsx';
import { Show, useGet } from '../../parts/load.tsx';
import { Facts, sizeText } from '../../parts/text.tsx';
import type { TabProps } from './sandbox.tsx';

type Point = SandboxUsage['points'][number];
const percent = (value: number) => `${Math.round(value * 10) / 10} %`;
const perSecond = (value: number) => `${sizeText(value)}/s`;

const GRAPHS: readonly { title: string; name: keyof Point; text(value: number): string }[] = [
  { title: 'Processor', name: 'cpu_percent', text: percent },
  { title: 'Memory', name: 'memory_bytes', text: sizeText },
  { title: 'Received', name: 'rx_bytes_per_second', text: perSecond },
  { title: 'Sent', name: 'tx_bytes_per_second', text: perSecond },
];

export function SandboxUsageTab({ id }: TabProps): JSX.Element {
  const [step, setStep] = useState('fine');
  const usage = useGet<SandboxUsage>(`sandboxes/${id}/usage`, { step }, 2000);
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

function Found({ of: { now, missing, totals, points, step_seconds } }: { of: SandboxUsage }): JSX.Element {
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
        {GRAPHS.map(({ title, name, text }) => (
          <section class="card" key={name}>
            <h2>{title}</h2>
            <Graph title={title} points={pointsOf(points, name)} stepSeconds={step_seconds} text={text} />
            {missing[name] !== undefined && <p class="hint">{missing[name]}</p>}
          </section>
        ))}
      </div>
      {totals && (
        <>
          <h2>In all</h2>
          <Facts of={totals} except={['sandbox_id', 'owner_id']} />
        </>
      )}
    </>
  );
}

const pointsOf = (points: readonly Point[], name: keyof Point): GraphPoint[] =>
  points.flatMap((point) => {
    const value = point[name];
    return typeof value === 'number' ? [{ at: Date.parse(point.at), value }] : [];
  });
