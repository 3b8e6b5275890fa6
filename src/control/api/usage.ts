// What sandboxes use. Callers that are kept apart see their own alone; others of another owner are `not_found`.
import type {
  LiveUsage,
  LiveUsageQuery,
  OwnersUsageQuery,
  SandboxUsage,
  SandboxUsageQuery,
  SandboxUsageRow,
  UsageQuery,
  UsageReport,
  UsageRow,
  UsageSandboxesQuery,
} from '../../schema/usage.ts';
import type { Caller } from './caller.ts';

export interface UsageViews {
  /** Newest readings; the server sorts and cuts. They are measured more often for a while. */
  live(query: LiveUsageQuery, caller: Caller): Promise<LiveUsage>;
  /** What a running sandbox uses, or what an ended one used that the ledger still has. */
  sandbox(id: string, query: SandboxUsageQuery, caller: Caller): Promise<SandboxUsage>;
  /** Throws `bad_request` for a time that cannot be read, and for more rows than one answer may have. */
  owner(owner_id: string, query: UsageQuery, caller: Caller): Promise<UsageReport>;
  /** The same rows, as they are read. */
  ownerRows(owner_id: string, query: UsageQuery, caller: Caller): AsyncIterable<UsageRow[]>;
  /** Newest first. */
  sandboxes(
    owner_id: string,
    query: UsageSandboxesQuery,
    caller: Caller,
  ): Promise<{ rows: SandboxUsageRow[]; next_cursor?: string }>;
  sandboxRows(owner_id: string, query: UsageSandboxesQuery, caller: Caller): AsyncIterable<SandboxUsageRow[]>;
  /** All owners, for administrators. */
  owners(query: OwnersUsageQuery): Promise<UsageReport>;
}
