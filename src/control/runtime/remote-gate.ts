// The gate of a sandbox of a worker. The worker decides and connects; this server sends it the policy and reads its decisions over
// a link. The worker keeps the policy while its lease lasts, so a server that restarts cuts nothing off.
import { Broadcast } from '../../domain/broadcast.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import { takeToken } from '../../domain/rate.ts';
import type { EgressCounters, EgressEvent, EgressLogQuery } from '../../egress/egress.ts';
import type { EgressLink, EgressNews } from '../../providers/provider.ts';
import type { EgressCheck, EgressLogLine } from '../../schema/egress.ts';
import type { EgressAnswer, EgressOrder } from '../../schema/worker-egress.ts';
import { cutOrder, type GatedSandbox } from './applied-egress.ts';
import { NOTHING, sum } from './egress-counters.ts';
import type { GateView, HeldGate, Serving } from './held-gate.ts';

export type OpenEgressLink = (
  row: GatedSandbox,
  onNews: (news: EgressNews) => void,
  signal: AbortSignal,
) => Promise<EgressLink>;

export interface RemoteGateDeps {
  open: OpenEgressLink;
  clock: Pick<Clock, 'monotonic'>;
  onEvent(event: Omit<EgressEvent, 'sandbox_id'>): void;
}

export class RemoteGate implements HeldGate, GateView {
  readonly view = this;
  readonly #deps: RemoteGateDeps;
  readonly #news = new Broadcast<EgressLogLine>();
  #link: EgressLink | undefined;
  #order: EgressOrder | undefined;
  counters: EgressCounters = NOTHING;
  counted: EgressCounters = NOTHING;
  missing: readonly number[] = [];
  intercepts = false;
  orders: number | undefined;
  #notesFullAt = 0;

  constructor(deps: RemoteGateDeps) {
    this.#deps = deps;
  }

  get isOpen(): boolean {
    return this.#link !== undefined;
  }

  async refresh(): Promise<void> {
    await this.#call({}).catch(() => undefined);
  }

  async apply(order: EgressOrder, after?: number): Promise<boolean> {
    const { outrun } = await this.#call({ apply: order, ...(after !== undefined && { after }) });
    if (outrun) return false;
    this.#order = order;
    if (this.#news.readers > 0) this.#follow();
    return true;
  }

  /** An order of another server that came since is newer than what could not be read here. */
  async cut(): Promise<void> {
    if (this.#order) await this.apply(cutOrder(this.#order), this.orders).catch(() => undefined);
  }

  /** A worker of an earlier version keeps a gate that allows nothing. */
  async withdraw(): Promise<void> {
    await this.cut();
    await this.#call({ end: true }).catch(() => undefined);
  }

  async serve(row: GatedSandbox, signal: AbortSignal): Promise<Serving> {
    let greet = () => {};
    const greeted = new Promise<void>((resolve) => {
      greet = resolve;
    });
    // A worker without an order says so by a line without a report.
    this.orders = 0;
    const onNews = (news: EgressNews) => {
      this.#take(news);
      greet();
    };
    const link = await this.#deps.open(row, onNews, signal);
    await Promise.race([greeted, link.closed]);
    this.#link = link;
    void link.closed.then(() => {
      if (this.#link !== link) return;
      this.#link = undefined;
      this.counted = { ...this.counted, open: 0 };
    });
    return { closed: link.closed, release: () => link.close() };
  }

  async check(host: string, port: number): Promise<EgressCheck> {
    const { check } = await this.#call({ check: { host, port } });
    if (check) return check;
    throw unreachable();
  }

  async log(query: EgressLogQuery = {}): Promise<EgressLogLine[]> {
    return (await this.#call({ log: query })).log ?? [];
  }

  /** Lines of a time without a link are not sent again. */
  follow(signal: AbortSignal): AsyncIterable<EgressLogLine> {
    const lines = this.#news.follow(signal, () => this.#follow());
    this.#follow();
    return lines;
  }

  close(): void {
    this.#news.close();
    this.#link?.close();
  }

  #follow(): void {
    this.#link?.call({ follow: this.#news.readers > 0 }).catch(() => undefined);
  }

  async #call(ask: Parameters<EgressLink['call']>[0]): Promise<EgressAnswer> {
    if (!this.#link) throw unreachable();
    const answer = await this.#link.call(ask);
    this.#take(answer);
    return answer;
  }

  #take({ report, line, event }: EgressNews): void {
    if (report) {
      this.counters = report.counters;
      this.missing = report.missing;
      this.orders = report.orders;
      this.intercepts = report.intercepts;
      if (report.added) this.counted = { ...sum(this.counted, report.added), open: report.counters.open };
    }
    if (line) this.#news.add(line);
    if (event && this.#mayNote()) this.#deps.onEvent(event);
  }

  /** A worker joins decisions to fewer: one that does not is not believed. */
  #mayNote(): boolean {
    const { verdict, fullAt } = takeToken(NOTES, this.#notesFullAt, this.#deps.clock.monotonic());
    this.#notesFullAt = fullAt;
    return verdict.allowed;
  }
}

const NOTES = { burst: 120, refillMs: 500 };

const unreachable = () =>
  new ServiceError(
    'unavailable',
    'The worker of the sandbox cannot be reached; its egress gate keeps the last policy.',
    {
      remedy: 'Try again. The stored policy is applied as soon as the worker is reached.',
      retryAfterMs: 1000,
    },
  );
