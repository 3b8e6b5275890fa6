// Where the sandbox may connect, and what was decided for its connections.
import type { JSX } from 'preact';
import type { EgressLogLine, EgressStatus } from '../../../../src/schema/egress.ts';
import { Show, useGet } from '../../parts/load.tsx';
import { Facts } from '../../parts/text.tsx';
import { DecisionTable } from '../decision-table.tsx';
import type { TabProps } from './sandbox.tsx';

export function SandboxEgress({ id, sandbox }: TabProps): JSX.Element {
  const hasPolicy = sandbox.egress !== undefined;
  const status = useGet<EgressStatus>(hasPolicy ? `sandboxes/${id}/egress` : undefined, {}, 10_000);
  const log = useGet<EgressLogLine[]>(
    hasPolicy ? `sandboxes/${id}/egress/log` : undefined,
    { limit: 1000 },
    5000,
  );
  if (!hasPolicy) return <p>This sandbox has no egress policy. Its network is as its provider gives it.</p>;
  return (
    <>
      <h2>Decisions</h2>
      <Show of={log}>{(lines) => <DecisionTable lines={lines} />}</Show>
      <h2>Policy</h2>
      <Show of={status}>{(policy) => <Facts of={policy} />}</Show>
    </>
  );
}
