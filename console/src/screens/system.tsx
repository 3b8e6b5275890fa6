// What operators look at: the queue, limits, operations, advice and the newest log lines.
import type { JSX } from 'preact';
import type { Diagnostics } from '../../../src/schema/diagnostics.ts';
import { Show, useGet } from '../parts/load.tsx';
import { LogBox } from '../parts/log-box.tsx';
import { Card, Screen } from '../parts/screen.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Facts, shown } from '../parts/text.tsx';

type Operation = Diagnostics['operations'][number];

const COLUMNS: readonly Column<Operation>[] = [
  {
    id: 'operation',
    title: 'Operation',
    value: ({ operation }) => operation,
    cell: ({ operation }) => operation,
  },
  {
    id: 'requests',
    title: 'Requests',
    width: '8rem',
    value: ({ requests }) => requests,
    cell: ({ requests }) => requests.toLocaleString('en'),
  },
  {
    id: 'failures',
    title: 'Failures',
    width: '7rem',
    value: ({ failures }) => failures,
    cell: ({ failures }) => failures,
  },
  {
    id: 'mean',
    title: 'Mean',
    width: '7rem',
    value: ({ avg_ms }) => avg_ms,
    cell: ({ avg_ms }) => `${avg_ms.toFixed(1)} ms`,
  },
];

export function System(): JSX.Element {
  const loaded = useGet<Diagnostics>('admin/diagnostics', { logs: true }, 10_000);
  return (
    <Screen title="System">
      <Show of={loaded}>
        {({
          remediation,
          scheduler,
          limits,
          buffers,
          rate_limit,
          prewarm,
          store,
          process,
          build,
          operations,
          logs = [],
        }) => (
          <>
            <div class="cards">
              <Card title="Queue">
                <Facts of={scheduler} />
              </Card>
              <Card title="Process">
                <Facts of={{ ...process, ...build }} />
              </Card>
              <Card title="Database">
                <Facts of={store} />
              </Card>
              <Card title="Limits">
                <Facts of={limits} />
              </Card>
              <Card title="Buffers">
                <Facts of={buffers} />
              </Card>
              <Card title="Rate limit">
                <Facts of={rate_limit} />
              </Card>
              <Card title="Prewarmed sandboxes">
                <Facts of={prewarm} />
              </Card>
              <Card title="Where to read on">
                <Facts of={{ ...remediation }} />
              </Card>
            </div>
            <h2>Operations</h2>
            <Table
              label="Operations"
              rows={operations}
              columns={COLUMNS}
              keyOf={({ operation }) => operation}
              sort="-requests"
            />
            <h2>Newest log lines</h2>
            <LogBox
              label="Newest log lines"
              text={logs
                .map((line) => shown(typeof line === 'string' ? line : JSON.stringify(line)))
                .join('\n')}
            />
          </>
        )}
      </Show>
    </Screen>
  );
}
