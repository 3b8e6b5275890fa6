// The outgoing access of one sandbox: accepts connections of its programs, decides, connects, counts and remembers.
import type { Duplex } from 'node:stream';
import type { GateConnection, SandboxGate } from '../agent/gate-io.ts';
import type { Clock } from '../domain/ports.ts';
import type { EgressCheck } from '../schema/egress.ts';
import { AcceptLoop } from './accept.ts';
import { allowTarget, decide, type IsOwn, verdictOf } from './decide.ts';
import { dialFirst } from './dial.ts';
import type {
  AppliedEgress,
  EgressCounters,
  EgressDial,
  EgressEvent,
  EgressGate,
  EgressLogQuery,
  EgressResolver,
  EgressSettings,
} from './egress.ts';
import { serveClient, serveTarget } from './front.ts';
import type { HttpFront } from './http-front.ts';
import { IdleLines } from './idle-lines.ts';
import { DecisionLog } from './log.ts';
import { Notices } from './notices.ts';
import { type Ask, Passage } from './passage.ts';
import { noticesOf } from './passage-notices.ts';
import { noSession, openPorts } from './ports.ts';
import { ByteQuota, ConnectionRate, RefusalPace } from './quota.ts';
import { EgressRefusal } from './refusal.ts';
import { Names } from './resolve.ts';
import { Slots } from './slots.ts';
import type { Opened } from './tunnel.ts';
import type { Direction } from './upstream.ts';
import type { FrontGate } from './visit.ts';

export interface GateDeps {
  readonly sandbox_id: string;
  readonly clock: Clock;
  readonly http: HttpFront;
  readonly resolver: EgressResolver;
  readonly dial: EgressDial;
  readonly isOwn: IsOwn;
  /** The slots of all sandboxes. */
  readonly slots: Slots;
  settings(): EgressSettings;
  onEvent(event: EgressEvent): void;
  readonly roots?: readonly string[] | undefined;
  /** Once. */
  closed(gate: OpenGate): void;
}

export class OpenGate implements EgressGate, FrontGate {
  readonly #deps: GateDeps;
  #policy: AppliedEgress;
  readonly #names: Names;
  readonly #quota: ByteQuota;
  readonly #rate: ConnectionRate;
  readonly #slots: Slots;
  readonly idle: IdleLines;
  readonly pace: RefusalPace;
  readonly roots: readonly string[] | undefined;
  readonly #log = new DecisionLog();
  readonly #notices: Notices;
  readonly #passages = new Set<Passage>();
  readonly #counts = { allowed: 0, denied: 0, failed: 0 };
  readonly #clients = new Set<Duplex>();
  #loop: AcceptLoop | undefined;
  #agent: SandboxGate | undefined;
  missing: readonly number[] = [];
  #isClosed = false;

  constructor(policy: AppliedEgress, deps: GateDeps) {
    this.#deps = deps;
    this.#policy = policy;
    const { clock, resolver } = deps;
    this.#names = new Names(resolver, clock);
    this.#quota = new ByteQuota(() => this.#policy, clock);
    const aMinute = () => deps.settings().new_connections_per_minute;
    this.#rate = new ConnectionRate(aMinute, clock);
    this.pace = new RefusalPace(aMinute, clock);
    this.roots = deps.roots;
    this.#slots = new Slots(() => this.#policy.max_connections, clock);
    this.idle = new IdleLines(clock, () => this.#slots.waiting + deps.slots.waiting > 0);
    this.#notices = new Notices(clock, (event) => deps.onEvent(event));
  }

  get policy(): AppliedEgress {
    return this.#policy;
  }

  get idleMs(): number {
    return this.#deps.settings().idle_timeout;
  }

  get authority() {
    return this.#policy.authority;
  }

  get connectMs(): number {
    return this.#deps.settings().connect_timeout;
  }

  get counters(): EgressCounters {
    const { sent, received } = this.#quota.bytes;
    const open = this.#open().filter((passage) => passage.isInUse).length;
    return { ...this.#counts, open, sent_bytes: sent, received_bytes: received };
  }

  /** Numbers for `/diagnostics`. */
  get sizes(): { clients: number; names: number; lines: number; waiting: number } {
    const { size: clients } = this.#clients;
    return { clients, names: this.#names.size, lines: this.#log.size, waiting: this.#slots.waiting };
  }

  async serve(io: Parameters<EgressGate['serve']>[0]): Promise<void> {
    const { gate } = io;
    if (!gate) throw noSession();
    this.#agent = gate; // ports of a policy that changes meanwhile are opened after these
    await this.#openPorts(gate);
    this.#loop?.stop();
    if (this.#isClosed) return;
    this.#loop = new AcceptLoop(io, gate, {
      clock: this.#deps.clock,
      serve: (connection) => this.#client(connection),
    });
  }

  async change(policy: AppliedEgress): Promise<void> {
    const before = this.#policy.ports?.join();
    this.#policy = policy;
    this.idle.clear();
    for (const passage of this.#open()) passage.review(policy);
    if (this.#quota.isUsed) this.#exhausted();
    this.#slots.admit();
    if (!this.#agent || !policy.ports || policy.ports.join() === before) return;
    // A lost session says so by itself, and the next one opens the ports.
    await this.#openPorts(this.#agent).catch(() => undefined);
  }

  check(host: string, port: number): Promise<EgressCheck> {
    return verdictOf(this.#decider(), host, port);
  }

  log(query?: EgressLogQuery) {
    return this.#log.read(query);
  }

  follow(signal: AbortSignal) {
    return this.#log.follow(signal);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#loop?.stop();
    for (const client of [...this.#clients]) client.destroy();
    for (const passage of [...this.#passages]) passage.cut('policy_changed');
    this.idle.clear();
    this.#names.close();
    this.#notices.close();
    this.#log.close();
    this.#deps.closed(this);
  }

  /** Decides and connects, for `client`. Rejects with a refusal, which has been logged. */
  async open(ask: Ask, client: Duplex): Promise<Opened> {
    const opened = await this.openEarly(ask, client);
    this.#allowed(opened.passage);
    return opened;
  }

  /** The same for a request that is still to come: `again` begins it. */
  async openEarly(ask: Ask, client: Duplex, began?: (passage: Passage) => void): Promise<Opened> {
    const leaving: (() => void)[] = [];
    const leave = () => void leaving.map((each) => each());
    const passage = this.#passage(ask, client, { leave, isEarly: began !== undefined });
    began?.(passage);
    try {
      const wanted = passage.target();
      allowTarget(this.#policy, wanted);
      this.#takeToken();
      const { signal } = passage.over;
      if (this.#slots.isFull || this.#deps.slots.isFull) this.idle.clear();
      leaving.push(await this.#slots.take(signal));
      leaving.push(await this.#deps.slots.take(signal));
      const { addresses } = await decide(this.#decider(), wanted);
      const { dial, clock } = this.#deps;
      const timeoutMs = this.#deps.settings().connect_timeout;
      const dialed = await dialFirst(addresses, wanted.port, { dial, clock, timeoutMs, signal });
      return { passage, upstream: passage.begin(dialed, this.#policy) };
    } catch (error) {
      const refusal = passage.refuse(error);
      // A slot may have come after the end.
      leave();
      throw refusal;
    }
  }

  again(passage: Passage, ask: Ask): void {
    passage.again(ask, this.#policy);
    this.#allowed(passage);
  }

  async admit(ask: Ask, client: Duplex): Promise<void> {
    const passage = this.#passage(ask, client);
    try {
      await decide(this.#decider(), passage.target());
      this.#passages.delete(passage);
    } catch (error) {
      throw passage.refuse(error);
    }
  }

  refuse(ask: Ask, client: Duplex, error: unknown): EgressRefusal {
    const passage = this.#passage(ask, client);
    try {
      passage.target();
    } catch {
      // What the program sent is shown instead.
    }
    return passage.refuse(error);
  }

  async #openPorts(gate: SandboxGate): Promise<void> {
    const { ports, proxy_port = this.#deps.settings().proxy_port } = this.#policy;
    this.missing = await openPorts(gate, proxy_port, ports);
  }

  #client({ origin: { uid, target }, socket: client }: GateConnection): void {
    if (this.#isClosed) return void client.destroy();
    this.#clients.add(client);
    client.once('close', () => this.#clients.delete(client));
    const { clock, http } = this.#deps;
    const visit = { gate: this, uid };
    if (target) void serveTarget({ clock, http }, client, visit, target);
    else void serveClient({ clock, http }, client, visit);
  }

  #decider() {
    const addresses = (name: string) => this.#names.addresses(name);
    return { policy: this.#policy, isOwn: this.#deps.isOwn, addresses };
  }

  #open(): Passage[] {
    return [...this.#passages].filter((passage) => passage.isOpen);
  }

  #takeToken(): void {
    if (this.#isClosed) throw new EgressRefusal('policy_changed');
    if (this.#quota.isUsed) throw new EgressRefusal('bytes');
    if (!this.#rate.take()) throw new EgressRefusal('rate');
  }

  #passage(ask: Ask, client: Duplex, more: { leave?(): void; isEarly?: boolean } = {}): Passage {
    const passage = new Passage(ask, client, {
      isEarly: more.isEarly,
      clock: this.#deps.clock,
      idleMs: this.idleMs,
      isOwn: this.#deps.isOwn,
      pass: (direction, bytes) => this.#pass(direction, bytes),
      requested: () => this.#log.add(passage.line(this.#deps.sandbox_id)),
      ended: (_, isSilent) => {
        more.leave?.();
        this.#passages.delete(passage);
        if (!isSilent) this.#ended(passage);
      },
      failed: () => this.#ended(passage),
    });
    this.#passages.add(passage);
    return passage;
  }

  #pass(direction: Direction, bytes: number): number {
    const waitMs = this.#quota.pass(direction, bytes);
    if (this.#quota.isUsed) this.#exhausted();
    return waitMs;
  }

  #exhausted(): void {
    for (const passage of this.#open()) passage.cut('bytes');
  }

  #allowed(passage: Passage): void {
    this.#counts.allowed += 1;
    this.#note(passage);
  }

  #ended(passage: Passage): void {
    const line = passage.line(this.#deps.sandbox_id);
    this.#log.add(line);
    if (line.decision === 'allowed') return;
    this.#counts[line.decision] += 1;
    if (line.decision === 'denied') this.#note(passage);
  }

  #note(passage: Passage): void {
    if (this.#isClosed) return;
    const notices = noticesOf(passage, this.#deps.sandbox_id, this.#policy);
    for (const notice of notices) this.#notices.note(notice);
  }
}
