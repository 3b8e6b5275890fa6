// Sums for Prometheus, by provider: of this process since its start.
import type { UsageConfig } from '../../schema/config-usage.ts';
import type { Growth, Latest, Subject } from './latest.ts';

const OTHERS = 'other';
const MOST_OWNERS = 50;

const NONE: Growth = { cpu_us: 0, rx_bytes: 0, tx_bytes: 0, oom_kills: 0 };

export class UsageTotals {
  readonly #providers = new Map<string, Growth>();
  readonly #owners = new Map<string, number>();
  readonly #exposed: ReadonlySet<string>;
  readonly failures = new Map<string, number>();
  sampleSeconds = 0;

  constructor({ exposed_owners }: Pick<UsageConfig, 'exposed_owners'>) {
    this.#exposed = new Set(exposed_owners.slice(0, MOST_OWNERS));
  }

  grew({ provider, owner_id }: Subject, growth: Growth): void {
    const sum = this.#providers.get(provider) ?? { ...NONE };
    for (const name of ['cpu_us', 'rx_bytes', 'tx_bytes', 'oom_kills'] as const) sum[name] += growth[name];
    this.#providers.set(provider, sum);
    if (this.#exposed.size === 0) return;
    const owner = this.#ownerOf(owner_id);
    this.#owners.set(owner, (this.#owners.get(owner) ?? 0) + growth.cpu_us);
  }

  sampled(seconds: number): void {
    this.sampleSeconds += seconds;
  }

  failed(provider: string): void {
    this.failures.set(provider, (this.failures.get(provider) ?? 0) + 1);
  }

  /** Sums by provider, since the start. */
  grown(): ReadonlyMap<string, Growth> {
    return this.#providers;
  }

  /** Processor time of exposed owners in µs; nothing if none is exposed. */
  owners(): ReadonlyMap<string, number> {
    return this.#owners;
  }

  /** What runs now. */
  present(all: Iterable<Latest>): {
    memory: Map<string, number>;
    unmeasured: Map<string, number>;
    owners: Map<string, number>;
  } {
    const [memory, unmeasured, owners] = [new Map(), new Map(), new Map()] as Map<string, number>[];
    const add = (sums: Map<string, number> | undefined, name: string, by: number) =>
      sums?.set(name, (sums.get(name) ?? 0) + by);
    for (const { subject, reading } of all) {
      if (subject.state !== 'running' && subject.state !== 'unhealthy') continue;
      add(memory, subject.provider, reading?.memory_bytes ?? 0);
      add(unmeasured, subject.provider, reading ? 0 : 1);
      if (this.#exposed.size > 0) add(owners, this.#ownerOf(subject.owner_id), 1);
    }
    return { memory: memory!, unmeasured: unmeasured!, owners: owners! };
  }

  #ownerOf(owner_id: string | undefined): string {
    return owner_id !== undefined && this.#exposed.has(owner_id) ? owner_id : OTHERS;
  }
}
