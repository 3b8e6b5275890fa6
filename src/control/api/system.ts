// What the control plane reports about itself and its limits: providers, the pool, metrics, health, audit, quotas, rates.
import type { RateVerdict } from '../../domain/rate.ts';
import type { AuditDraft, AuditQuery, AuditRecord } from '../../schema/audit.ts';
import type { Config } from '../../schema/config.ts';
import type { Diagnostics, MetricsBody } from '../../schema/diagnostics.ts';
import type { PoolStatus } from '../../schema/pool.ts';
import type { ProviderDetail, ProviderItem, ProviderTests } from '../../schema/provider.ts';
import type {
  OwnerListQuery,
  Quota,
  QuotaCheck,
  QuotaListQuery,
  QuotaRequest,
  QuotaSummary,
  QuotaUsage,
} from '../../schema/quota.ts';
import type { Snapshot } from '../../schema/snapshot.ts';
import type { Health, Live, Ready } from '../../schema/system.ts';
import type { Caller } from './caller.ts';

export interface ProviderViews {
  /** `full` includes paths on the host, for administrators. */
  list(full?: boolean): Promise<ProviderItem[]>;
  /** Checks all providers now and returns the results by name. */
  test(): Promise<ProviderTests>;
  get(name: string, full?: boolean): Promise<ProviderDetail>;
}

export interface AnsweredRequest {
  /** A route's id, or `none`. */
  route: string;
  method: string;
  status: string;
  seconds: number;
}

export interface MetricViews {
  /** Counts a request that was answered. */
  request(answered: AnsweredRequest): void;
  /** Counts a call of a program for E2B that this server does not serve, by method and path. */
  unserved(what: string): void;
  body(): Promise<MetricsBody>;
  /** The Prometheus text format, with its media type. */
  text(): Promise<{ text: string; type: string }>;
  diagnostics(options: { logs: boolean }): Promise<Diagnostics>;
}

export interface PoolViews {
  status(): Promise<PoolStatus>;
}

export interface SnapshotViews {
  list(): Promise<Snapshot[]>;
}

export interface HealthViews {
  /** A caller that is not `full` (no key) gets status words only. */
  live(full: boolean): Live;
  /** `reason` is set when the service is not ready. */
  ready(full: boolean): Promise<Ready & { reason?: string }>;
  health(full: boolean): Promise<Health>;
}

export interface AuditPage {
  records: AuditRecord[];
  next_cursor?: string;
}

export interface AuditLog {
  /** Queues the record and returns at once; never throws. */
  record(draft: AuditDraft): void;
  /** Newest first, with all records before the call. Throws `bad_request` for an invalid timestamp or cursor. */
  list(query: AuditQuery): Promise<AuditPage>;
}

/** Limits of single owners. Under owner enforcement the quotas of others are `not_found` without an admin key. */
export interface Quotas {
  /** Newest first. */
  list(query: QuotaListQuery, caller: Caller): Promise<{ quotas: Quota[]; next_cursor?: string }>;
  get(owner_id: string, caller: Caller): Promise<Quota>;
  /** Full replacement: what is omitted inherits. In force from the next spawn, extension or exec on. */
  put(owner_id: string, request: QuotaRequest, caller: Caller): Promise<Quota>;
  delete(owner_id: string, caller: Caller): Promise<void>;
  /** Also of an owner without a quota, or without any sandbox ever. */
  usage(owner_id: string, caller: Caller): Promise<QuotaUsage>;
  /** What a change of the quota would change; changes nothing. Throws as `put` does. */
  check(owner_id: string, request: QuotaRequest, caller: Caller): Promise<QuotaCheck>;
  /**
   * Everybody who has sandboxes, a quota or use in the ledger, by name; for administrators. A page may be short, also empty, while a
   * text is looked for.
   */
  owners(query: OwnerListQuery): Promise<{ owners: QuotaUsage[]; next_cursor?: string }>;
  /** Counts without names: for every caller. */
  summary(): Promise<QuotaSummary>;
}

export interface RateStats {
  enabled: boolean;
  key_by: Config['rate_limit']['key_by'];
  requests_per_minute: number;
  burst: number;
  max_buckets: number;
  buckets: number;
  evicted_total: number;
  allowed_total: number;
  limited_total: number;
  /** Refused keys, and calls refused after too many of those. */
  failed_total: number;
  blocked_total: number;
}

export interface RateLimits {
  readonly enabled: boolean;
  readonly keyBy: Config['rate_limit']['key_by'];
  /** Names the bucket for `text`: a hash that only this process can compute. */
  bucket(text: string): string;
  /** Counts an authenticated call, also for `wide`, the wider bucket of its key; the verdict is that of `bucket`. */
  call(bucket: string, wide?: string): RateVerdict;
  /** Whether the address may try another key. */
  mayTry(bucket: string): RateVerdict;
  /** Counts a key that was refused or missing. */
  failed(bucket: string): RateVerdict;
  /** Whether even an address that recently proved a key may try. Such an address did not cause the refusal itself. */
  mayProve(bucket: string): RateVerdict;
  /** Counts a key that was wrong or that was not checked. */
  guessed(bucket: string): void;
  stats(): RateStats;
}
