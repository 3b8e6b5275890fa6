// What the API allows in the columns of the ledger of use: a part of row-rules.ts.
import { AMOUNTS } from '../seam/usage.ts';
import { count, either, fits, optional, owner, stamp, text } from './row-rule-kinds.ts';

const amounts = Object.fromEntries(AMOUNTS.map((name) => [name, count(0)]));

export const USAGE_RULES = {
  usage_sandboxes: {
    key: 'sandbox_id',
    columns: {
      sandbox_id: fits('^sb-[a-z0-9-]{1,60}$', 'is not an id such as sb-…'),
      owner_id: either("''", owner),
      provider: text(64, 1),
      template: text(256),
      vcpus: count(1, 1024),
      memory_mb: count(1, 1_048_576),
      started_at: stamp,
      ended_at: optional(stamp),
      claimed: count(0, 1),
      settled: count(0, 1),
      version: count(0),
      metered_to: stamp,
      counter: optional(text(512, 1)),
      sampled_at: optional(stamp),
      last_cpu_us: count(0),
      last_rx_bytes: count(0),
      last_tx_bytes: count(0),
      last_oom_kills: count(0),
      peak_memory_bytes: count(0),
      oom_kills: count(0),
      estimated: count(0, 1),
      ...amounts,
    },
  },
  usage_hours: {
    key: 'hour',
    columns: {
      owner_id: either("''", owner),
      hour: count(0),
      provider: text(64, 1),
      template: text(256),
      sandboxes: count(0),
      ...amounts,
    },
  },
  usage_state: { key: 'one', columns: { one: count(1, 1), complete_until: stamp } },
};
