// Use of the control plane that tests of its edges work with: notes of what was asked, and one row.
import type { Caller } from '../../../src/control/api/caller.ts';
import type { UsageViews } from '../../../src/control/api/usage.ts';
import type { SandboxUsageRow, UsageReport } from '../../../src/schema/usage.ts';
import { FAKE_START } from './ports.ts';

type Note = (method: string, caller: Caller | undefined, ...args: unknown[]) => void;

const STAMP = new Date(FAKE_START).toISOString();
const AMOUNTS = {
  ...{ sandbox_seconds: 1, vcpu_seconds: 1, memory_mib_seconds_allocated: 512, cpu_seconds: 0.25 },
  ...{ memory_mib_seconds: 40, rx_bytes: 0, tx_bytes: 0, execs: 2, exec_seconds: 0.5 },
};
const REPORT: UsageReport = {
  ...{ from: STAMP, to: STAMP, step: 'day' },
  rows: [{ from: STAMP, sandboxes: 1, ...AMOUNTS }],
  total: AMOUNTS,
};
const ROW: SandboxUsageRow = {
  ...{
    sandbox_id: 'sb-aaaaaaaaaaaa',
    owner_id: 'a',
    provider: 'userspace',
    template: '',
    vcpus: 1,
    memory_mb: 512,
  },
  ...{
    started_at: STAMP,
    metered_to: STAMP,
    estimated: false,
    peak_memory_bytes: 1,
    oom_kills: 0,
    ...AMOUNTS,
  },
};

export function fakeUsage(note: Note): UsageViews {
  return {
    async live(query, caller) {
      note('usage.live', caller, query);
      return { sampled_at: STAMP, interval_seconds: 10, matching: 0, sandboxes: [], owners: [] };
    },
    async sandbox(sandbox_id, query, caller) {
      note('usage.sandbox', caller, sandbox_id, query);
      return { sandbox_id, now: { memory_limit_bytes: 1 }, missing: {}, step_seconds: 10, points: [] };
    },
    async owner(owner_id, query, caller) {
      note('usage.owner', caller, owner_id, query);
      return REPORT;
    },
    async *ownerRows(owner_id, query, caller) {
      note('usage.ownerRows', caller, owner_id, query);
      yield REPORT.rows;
    },
    async sandboxes(owner_id, query, caller) {
      note('usage.sandboxes', caller, owner_id, query);
      return { rows: [ROW] };
    },
    async *sandboxRows(owner_id, query, caller) {
      note('usage.sandboxRows', caller, owner_id, query);
      yield [ROW];
    },
    async owners(query) {
      note('usage.owners', undefined, query);
      return REPORT;
    },
  };
}
