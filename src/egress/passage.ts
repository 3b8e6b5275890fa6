// One attempt of a program to reach a target, from its request to the end of the connection: decided, connected, counted, and
// written to the decision log once.
import type { Duplex } from 'node:stream';
import type { EgressDecision } from '../domain/egress/policy.ts';
import { idleTimeout, type Watch } from '../domain/idle-timeout.ts';
import type { Clock } from '../domain/ports.ts';
import type { EgressLogLine, EgressReason } from '../schema/egress.ts';
import { allowAddress, allowTarget, facts, type IsOwn, textOf, type Wanted, wantedOf } from './decide.ts';
import type { Dialed } from './dial.ts';
import type { AppliedEgress } from './egress.ts';
import { decisionOf, EgressRefusal, refusalOf, shown } from './refusal.ts';
import { type Direction, Upstream } from './upstream.ts';

/** What a program asked for. */
export interface Ask {
  /** As the program sent it. */
  readonly host: string;
  readonly port: number;
  readonly how: EgressLogLine['how'];
  readonly uid: number | undefined;
  readonly method?: string;
  /** The path without its query. */
  readonly path?: string;
  /** The name of the credential that the request gets. */
  readonly credential?: string;
}

export interface PassageDeps {
  readonly clock: Clock;
  readonly idleMs: number;
  readonly isOwn: IsOwn;
  /** Ms for which no further bytes may pass. */
  pass(direction: Direction, bytes: number): number;
  /** A request is over, and the connection is not. */
  requested(passage: Passage): void;
  /** It is opened for a request that is still to come. */
  readonly isEarly?: boolean | undefined;
  /** Once, when it is over; `isSilent`: no request was running, and nothing failed while the program was there. */
  ended(passage: Passage, isSilent: boolean): void;
  /** After a silent end: it had failed before its request came, and that has come now, or never will. */
  failed(passage: Passage): void;
}

/** One for all: a new one would note the stack of each connection that ends. */
const GONE = new EgressRefusal('unreachable');

export class Passage {
  ask: Ask;
  /** Status of the answer, for plain HTTP. */
  status: number | undefined;
  /** Aborts when the program gives up, or when this is cut. */
  readonly over = new AbortController();
  readonly #deps: PassageDeps;
  /** Undefined while no program uses the connection. */
  #client: Duplex | undefined;
  #startedAt: number;
  readonly #bytes: Record<Direction, number> = { sent: 0, received: 0 };
  /** The last request has ended, and its line is written, or the first one has not come. */
  #isBetween: boolean;
  /** The host, and a server name of TLS beside it. */
  readonly #wanted: Wanted[] = [];
  #verdict: { reason: EgressReason; rule?: string | undefined; layer?: EgressDecision['layer'] | undefined };
  #address: string | undefined;
  #upstream: Upstream | undefined;
  #watch: Watch | undefined;
  #isEnded = false;
  /** The request that it was opened for is known. */
  #isAsked: boolean;
  /** It failed, and its line waits for the request. */
  #isHeld = false;

  constructor(ask: Ask, client: Duplex, deps: PassageDeps) {
    this.ask = ask;
    this.#client = client;
    this.#deps = deps;
    this.#isBetween = deps.isEarly === true;
    this.#isAsked = !this.#isBetween;
    this.#startedAt = deps.clock.monotonic();
    this.#verdict = { reason: 'unreachable' };
    client.once('close', this.#gone);
    if (client.destroyed) this.#gone();
  }

  /** The program is done with the connection, which waits for another one between two requests. */
  detach(): void {
    this.#client?.off('close', this.#gone);
    this.#client = undefined;
  }

  /** Another program gets the connection. */
  attach(client: Duplex): void {
    this.#client = client;
    client.once('close', this.#gone);
  }

  readonly #gone = () => this.over.abort(GONE);

  get verdict() {
    return this.#verdict;
  }

  get isOpen(): boolean {
    return this.#upstream !== undefined && !this.#isEnded;
  }

  /** Open for a program. */
  get isInUse(): boolean {
    return this.isOpen && this.#client !== undefined;
  }

  /** Canonical, as far as it is a host. */
  get host(): string {
    const wanted = this.#wanted[0];
    return wanted ? textOf(wanted.host) : shown(this.ask.host);
  }

  /** Reads the target. Throws `name_invalid`. */
  target(): Wanted {
    const wanted = wantedOf(this.ask.host, this.ask.port);
    this.#wanted.push(wanted);
    return wanted;
  }

  /** Begins to pass bytes, under the policy of now. Owns the connection, also when it throws a refusal. */
  begin(dialed: Dialed, policy: AppliedEgress): Upstream {
    try {
      if (this.over.signal.aborted) throw this.over.signal.reason;
      this.#address = dialed.address;
      this.#verdict = this.#judged(policy);
    } catch (error) {
      dialed.socket.on('error', () => undefined).destroy();
      throw error;
    }
    const { clock, idleMs } = this.#deps;
    const meter = { pass: (direction: Direction, bytes: number) => this.#pass(direction, bytes) };
    const upstream = new Upstream(dialed, meter, clock);
    this.#upstream = upstream;
    this.#watch = idleTimeout(clock, idleMs, () => this.#reset());
    upstream.on('error', () => undefined).once('close', () => this.#end());
    return upstream;
  }

  /** From now on an end means that TLS failed, until the returned function is called. */
  securing(): () => void {
    const before = this.#verdict;
    this.#verdict = { reason: 'tls_failed' };
    return () => {
      if (!this.#isEnded) this.#verdict = before;
    };
  }

  /** Ends a request while the connection stays open for others: its line is written now. */
  pause(): void {
    if (this.#isEnded || this.#isBetween) return;
    this.#isBetween = true;
    this.#deps.requested(this);
    this.#bytes.sent = 0;
    this.#bytes.received = 0;
    this.status = undefined;
  }

  /** Begins a further request, or the one that it was opened for. Throws a refusal. */
  again(ask: Ask, policy: AppliedEgress): void {
    if (this.#isEnded) throw new EgressRefusal(this.#verdict.reason);
    this.ask = ask;
    this.#verdict = this.#judged(policy);
    this.#startedAt = this.#deps.clock.monotonic();
    this.#isBetween = false;
  }

  /** The request that it was opened for has come: a failure is logged with it. */
  asked(ask: Ask): void {
    this.ask = ask;
    this.#isAsked = true;
    this.#settle();
  }

  /** Cuts it unless the policy allows all of it. */
  review(policy: AppliedEgress): void {
    try {
      this.#judged(policy);
    } catch (error) {
      const { rule, layer } = refusalOf(error).facts;
      this.cut('policy_changed', { rule, layer });
    }
  }

  /** Whether TLS may ask for this server name on the connection: that of the target, or one that is allowed by itself. Throws. */
  allowServerName(name: string | undefined, policy: AppliedEgress): void {
    if (name === undefined) return;
    try {
      const wanted = wantedOf(name, this.ask.port);
      if (textOf(wanted.host) === this.host) return;
      allowTarget(policy, wanted);
      this.#wanted.push(wanted);
    } catch (error) {
      const { rule, layer } = refusalOf(error).facts;
      throw new EgressRefusal('sni_mismatch', { rule, layer });
    }
  }

  /** Resets both ends, for this reason. Safe twice. */
  cut(reason: EgressReason, by: EgressRefusal['facts'] = {}): void {
    if (this.#isEnded) return;
    this.#verdict = { reason, rule: by.rule, layer: by.layer };
    this.#reset();
  }

  /** Resets the end at the target alone: the program still gets the reason. */
  drop({ reason, facts: by }: EgressRefusal): void {
    if (this.#isEnded) return;
    this.#verdict = { reason, rule: by.rule, layer: by.layer };
    this.#upstream?.destroy();
    this.#end();
  }

  /** Ends an attempt that got no connection. Returns the refusal for the program. */
  refuse(error: unknown): EgressRefusal {
    const refusal = this.#isEnded ? new EgressRefusal(this.#verdict.reason) : refusalOf(error);
    this.#address ??= refusal.facts.address;
    this.#verdict = { reason: refusal.reason, rule: refusal.facts.rule, layer: refusal.facts.layer };
    this.#end();
    return refusal;
  }

  line(sandbox_id: string): EgressLogLine {
    const { clock } = this.#deps;
    const { port, how, uid, method, path, credential } = this.ask;
    return {
      at: new Date(clock.now()).toISOString(),
      sandbox_id,
      decision: decisionOf(this.#verdict.reason),
      ...(facts({ rule: undefined, layer: undefined, ...this.#verdict }) as { reason: EgressReason }),
      host: this.host,
      port,
      ...(this.#address !== undefined && { address: this.#address }),
      how,
      ...(uid !== undefined && { uid }),
      ...(credential !== undefined && { credential }),
      ...(method !== undefined && { method: shown(method) }),
      ...(path !== undefined && { path: shown(path) }),
      ...(this.status !== undefined && { status: this.status }),
      sent_bytes: this.#bytes.sent,
      received_bytes: this.#bytes.received,
      duration_ms: Math.round(clock.monotonic() - this.#startedAt),
    };
  }

  /** Throws what the policy refuses. */
  #judged(policy: AppliedEgress): EgressDecision {
    const decisions = this.#wanted.map((wanted) => allowTarget(policy, wanted));
    const [first] = this.#wanted;
    if (this.#address !== undefined && first) allowAddress(policy, this.#address, first, this.#deps.isOwn);
    return decisions[0] as EgressDecision;
  }

  #pass(direction: Direction, bytes: number): number {
    this.#bytes[direction] += bytes;
    this.#watch?.touch();
    return this.#deps.pass(direction, bytes);
  }

  #reset(): void {
    this.over.abort(new EgressRefusal(this.#verdict.reason));
    this.#upstream?.destroy(new EgressRefusal(this.#verdict.reason));
    this.#client?.destroy();
    if (this.#upstream) this.#end();
  }

  #end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#watch?.stop();
    const client = this.#client;
    client?.off('close', this.#gone);
    const isFailure = decisionOf(this.#verdict.reason) !== 'allowed' && client?.destroyed === false;
    this.#isHeld = isFailure && !this.#isAsked;
    if (this.#isHeld) client?.once('close', () => this.#settle());
    this.#deps.ended(this, this.#isHeld || (this.#isBetween && !isFailure));
  }

  #settle(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#deps.failed(this);
  }
}
