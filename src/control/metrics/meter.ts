// Counts for metrics around providers and reservations and from events, so that the other code counts nothing.
import type { ServiceError } from '../../domain/errors.ts';
import { keepNewest } from '../../domain/keep-newest.ts';
import type { Clock } from '../../domain/ports.ts';
import type { Provider, ProviderSet } from '../../providers/provider.ts';
import { ADMISSION_REASONS } from '../../schema/admission.ts';
import type { EventDraft, EventType } from '../../schema/event.ts';
import type { SandboxStore, Store } from '../../store/store.ts';
import type { Metrics } from './metrics.ts';

/** The reasons a spawn is refused for; no other word becomes a label. */
export const REFUSALS = [
  ...ADMISSION_REASONS.filter((reason) => reason !== 'provider_unknown'),
  ...(['queue_full', 'queue_timeout'] as const),
];

/** The most spawns that are tracked until they run. */
const MOST_SPAWNS = 10_000;

export class Meter {
  readonly #metrics: Metrics;
  readonly #clock: Clock;
  /** When each `creating` row was written, ms since 1970. */
  readonly #spawns = new Map<string, number>();

  constructor(deps: { metrics: Metrics; clock: Clock }) {
    this.#metrics = deps.metrics;
    this.#clock = deps.clock;
  }

  /** The same providers, with the duration of `create` measured. */
  providers(set: ProviderSet): ProviderSet {
    const metered = new Map(set.all.map((provider) => [provider, this.#provider(provider)]));
    return {
      all: [...metered.values()],
      get: (name) => metered.get(set.get(name)) as Provider,
      close: () => set.close(),
    };
  }

  /** The same store, with its decisions on spawns counted. */
  store(store: Store): Store {
    const { sandboxes } = store;
    const reserve: SandboxStore['reserve'] = async (order) => {
      const began = this.#clock.monotonic();
      const reservation = await sandboxes.reserve(order);
      this.#phase(order.sandbox.provider, 'reserve', began);
      if (reservation.kind === 'reserved')
        this.#metrics.count('svc_admission_total', { decision: 'allowed', reason: 'none' });
      return reservation;
    };
    return over(store, { sandboxes: over(sandboxes, { reserve }) });
  }

  /** Counts an event that no state change waits for. */
  noted(
    type: EventType,
    { provider = 'unknown' }: { provider?: string },
    data: Record<string, unknown>,
  ): void {
    const { duration_ms, action, wait_ms, reason } = data;
    if (type === 'spawn.queued')
      this.#metrics.count('svc_admission_total', { decision: 'queued', reason: String(reason) });
    if (type === 'spawn.dequeued' && typeof wait_ms === 'number')
      this.#metrics.observe('svc_spawn_queue_wait_seconds', {}, wait_ms / 1000);
    const isExec = type === 'exec.completed' || type === 'exec.timeout';
    if (isExec && typeof duration_ms === 'number')
      this.#metrics.observe('svc_exec_duration_seconds', { provider }, duration_ms / 1000);
    if (action === 'destroy_orphan') this.#metrics.count('svc_orphans_total', { provider });
  }

  /** Counts a spawn that admission refused, but no other failure, such as an invalid request. */
  refused({ details }: ServiceError): void {
    const reason = details?.reason;
    const known = REFUSALS.find((refusal) => refusal === reason);
    if (known) this.#metrics.count('svc_admission_total', { decision: 'denied', reason: known });
  }

  /** Counts a stored event. */
  stored({ type, sandbox_id: id, timestamp, data }: EventDraft): void {
    this.#metrics.count('svc_events_total', { type });
    if (id === undefined || !type.startsWith('sandbox.')) return;
    const began = this.#spawns.get(id);
    this.#spawns.delete(id);
    if (type === 'sandbox.created') keepNewest(this.#spawns, id, Date.parse(timestamp), MOST_SPAWNS);
    if (type !== 'sandbox.running' || began === undefined) return;
    const seconds = Math.max(0, Date.parse(timestamp) - began) / 1000;
    const labels = { provider: String(data?.provider), phase: 'total' } as const;
    this.#metrics.observe('svc_spawn_duration_seconds', labels, seconds);
  }

  #provider(provider: Provider): Provider {
    const create: Provider['create'] = async (spec, signal) => {
      const began = this.#clock.monotonic();
      const created = await provider.create(spec, signal);
      this.#phase(provider.kind, 'create', began);
      return created;
    };
    return over(provider, { create });
  }

  #phase(provider: string, phase: 'reserve' | 'create', began: number): void {
    const seconds = (this.#clock.monotonic() - began) / 1000;
    this.#metrics.observe('svc_spawn_duration_seconds', { provider, phase }, seconds);
  }
}

/** `target` with some members replaced; all others are looked up each time. */
function over<T extends object>(target: T, members: Partial<T>): T {
  return Object.assign(Object.create(target) as T, members);
}
