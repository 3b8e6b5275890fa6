// How the providers are: probed on demand, the answer kept for 5 s, one probe of a provider at a time
// (docs/design/api.md#providers).
import type { SystemActor } from '../../domain/actor.ts';
import { withoutHostPaths } from '../../domain/host-paths.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import { orAfter } from '../../domain/timeout.ts';
import type { ProbeReport, Provider, ProviderSet } from '../../providers/provider.ts';
import type { Publisher } from '../records/publish.ts';

const KEPT_MS = 5000;

export interface Probed {
  /** Its message contains no paths of the host. */
  report: ProbeReport;
  /** The original message, for administrators. */
  reason?: string | undefined;
  latency_ms: number;
  /** ISO 8601; absent when the probe did not finish in time. */
  last_checked?: string;
}

interface Known extends Probed {
  /** Monotonic. */
  at: number;
}

interface ProbesDeps {
  providers: ProviderSet;
  publisher: Publisher;
  clock: Clock;
  logger: Logger;
}

export class Probes {
  readonly #deps: ProbesDeps;
  readonly #known = new Map<string, Known>();
  readonly #probing = new Map<string, Promise<Known>>();
  readonly #everHealthy = new Set<string>();

  constructor(deps: ProbesDeps) {
    this.#deps = deps;
  }

  /** At most 5 s old. The guard ends a probe after 3 s; never rejects. */
  async read(provider: Provider): Promise<Probed> {
    const known = this.#known.get(provider.kind);
    if (known && this.#deps.clock.monotonic() - known.at < KEPT_MS) return known;
    return this.test(provider);
  }

  /** The same as `read`, but a probe that is unfinished after `ms` counts as unhealthy. */
  async readWithin(provider: Provider, ms: number): Promise<Probed> {
    const unfinished = { report: UNFINISHED, latency_ms: ms };
    return orAfter(this.#deps.clock, ms, this.read(provider), () => unfinished);
  }

  /** Whether it was healthy at any time of this process: a provider that never was may not be installed. */
  wasHealthy({ kind }: Provider): boolean {
    return this.#everHealthy.has(kind);
  }

  /** The first healthy one in order of preference; undefined when none is. */
  async firstHealthy(): Promise<Provider | undefined> {
    const all = this.#deps.providers.all;
    const probed = await Promise.all(all.map((provider) => this.read(provider)));
    return all.find((_, index) => probed[index]?.report.healthy);
  }

  /** Probes now, or joins the running probe, and caches the result. Never rejects. */
  test(provider: Provider): Promise<Probed> {
    const running = this.#probing.get(provider.kind);
    if (running) return running;
    const probing = this.#ask(provider).finally(() => this.#probing.delete(provider.kind));
    this.#probing.set(provider.kind, probing);
    return probing;
  }

  async #ask(provider: Provider): Promise<Known> {
    const { clock, publisher } = this.#deps;
    const began = clock.monotonic();
    const report = await provider.probe(new AbortController().signal);
    const at = clock.monotonic();
    const { message: reason } = report;
    const known = {
      report: { ...report, ...(reason !== undefined && { message: withoutHostPaths(reason) }) },
      reason,
      latency_ms: Math.round((at - began) * 10) / 10,
      last_checked: publisher.now(),
      at,
    };
    if (report.healthy) this.#everHealthy.add(provider.kind);
    this.#tell(provider, report);
    this.#known.set(provider.kind, known);
    return known;
  }

  /** Logs and publishes each change once, not each probe. */
  #tell({ kind }: Provider, { healthy, message = '' }: ProbeReport): void {
    const before = this.#known.get(kind)?.report.healthy ?? true;
    if (healthy === before) return;
    const { logger, publisher } = this.#deps;
    if (healthy) {
      logger.info({ provider: kind }, 'The provider is healthy again.');
      return;
    }
    logger.warn({ provider: kind, reason: message }, 'The provider is not healthy.');
    publisher.note(
      'provider.failed',
      {},
      { operation: 'probe', provider: kind, code: 'unavailable', message: withoutHostPaths(message) },
      'system:probe' satisfies SystemActor,
    );
  }
}

const UNFINISHED: ProbeReport = { healthy: false, message: 'The check has not finished.', findings: [] };
