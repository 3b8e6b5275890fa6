// What the outgoing access of sandboxes offers to the control plane, and what it needs. Types only.
import type { Duplex } from 'node:stream';
import type { SecureContext } from 'node:tls';
import type { SandboxIo } from '../agent/io.ts';
import type { AppliedPolicy } from '../domain/egress/applied.ts';
import type { Clock, Random } from '../domain/ports.ts';
import type { EgressCheck, EgressLayerName, EgressLogLine, EgressReason } from '../schema/egress.ts';
import type { Reads } from './reads.ts';

/** A certificate and its private key, in PEM. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

/** Ends TLS of programs that trust its certificate. */
export interface EgressAuthority {
  /** In PEM. */
  readonly certificate: string;
  /** For a worker, which ends TLS in place of this server. */
  readonly pair: KeyPair;
  /** For TLS servers of this name. */
  contextFor(name: string): SecureContext;
}

/** The policy of one sandbox as it is applied here. */
export interface AppliedEgress extends AppliedPolicy {
  /** Ends TLS for hosts with a credential; programs must trust its certificate. Absent: their TLS passes unchanged. */
  readonly authority?: EgressAuthority | undefined;
}

/** Settings of the server. Read at each use, so they may change. */
export interface EgressSettings {
  /** On the loopback of each sandbox. */
  readonly proxy_port: number;
  /** Ms. */
  readonly connect_timeout: number;
  /** Ms. */
  readonly idle_timeout: number;
  /** For all sandboxes together. */
  readonly max_connections: number;
  /** For each sandbox. */
  readonly new_connections_per_minute: number;
  /** `system`, which reads the hosts file too, or addresses of name servers. */
  readonly resolver: 'system' | readonly string[];
}

/** Decisions of one sandbox with the same target and reason, joined over 60 s. */
export interface EgressEvent {
  readonly type: 'egress.denied' | 'egress.allowed' | 'egress.limited' | 'egress.credential_used';
  readonly sandbox_id: string;
  readonly host: string;
  readonly port: number;
  readonly reason: EgressReason;
  readonly rule?: string;
  readonly layer?: EgressLayerName;
  readonly credential?: string;
  readonly count: number;
}

export interface EgressCounters {
  /** Connections and plain HTTP requests since the server knows the sandbox. */
  readonly allowed: number;
  readonly denied: number;
  readonly failed: number;
  /** Now. */
  readonly open: number;
  readonly sent_bytes: number;
  readonly received_bytes: number;
}

export interface EgressLogQuery {
  /** The newest so many; at most the 1,000 that are kept. */
  readonly limit?: number;
  readonly decision?: EgressLogLine['decision'];
}

/** The outgoing access of one sandbox. It outlives sessions: its log, counters and addresses stay until `close`. */
export interface EgressGate {
  readonly counters: EgressCounters;
  /** Ports of the transparent gate that could not be had. */
  readonly missing: readonly number[];
  /**
   * Opens the proxy port and the ports of the policy, and accepts connections over `io` until that session ends; connections of an earlier session have
   * ended with it. Resolves once the ports listen. Rejects with `not_implemented` where the agent has no gate, or not the
   * transparent one that the policy wants, with `conflict` when another program has the proxy port.
   */
  serve(io: SandboxIo): Promise<void>;
  /**
   * Applies from now on. Open connections that it does not allow are reset before this returns; new ports of the transparent gate
   * listen when it resolves. Never rejects: a session that fails opens them again when it is back.
   */
  change(policy: AppliedEgress): Promise<void>;
  /** What a connection would get now. Resolves allowed names, opens nothing. */
  check(host: string, port: number): Promise<EgressCheck>;
  /** A line for each refusal, and for each connection that has ended; in the order of time. */
  log(query?: EgressLogQuery): EgressLogLine[];
  /** New lines from now on until `signal` aborts or the gate closes. A slow reader misses the oldest. */
  follow(signal: AbortSignal): AsyncIterable<EgressLogLine>;
  /** Resets every connection and forgets the log. Safe twice; never rejects. */
  close(): Promise<void>;
}

/** All gates of this server: shares the limits of the server among them. */
export interface Egress {
  /** A gate that serves nothing yet. An earlier one of the same sandbox is closed. */
  open(sandbox_id: string, policy: AppliedEgress): EgressGate;
  /** The gate of a sandbox that is open. */
  gate(sandbox_id: string): EgressGate | undefined;
  /** What a connection would get under a policy that no sandbox has. Resolves allowed names, opens nothing. */
  check(policy: AppliedEgress, host: string, port: number): Promise<EgressCheck>;
  /** A new authority that holds for `lifeMs` from now. */
  createAuthority(name: string, lifeMs: number): KeyPair;
  authority(pair: KeyPair): EgressAuthority;
  /**
   * The first of the authorities that programs of the sandbox can be made to trust; undefined: none. Rejects as the session does.
   */
  trusted(
    io: Pick<SandboxIo, 'gate'>,
    authorities: readonly EgressAuthority[],
  ): Promise<EgressAuthority | undefined>;
  /** Numbers for `/diagnostics`. */
  diagnostics(): Readonly<Record<string, number>>;
  close(): Promise<void>;
}

/** Looks a name up once: addresses of both families, and for how long they hold. */
export interface EgressResolver {
  /** `ttlMs` is 0 where the answer has none. An empty list: there is no such name, or it has no address. */
  lookup(name: string, signal: AbortSignal): Promise<{ addresses: readonly string[]; ttlMs: number }>;
}

/** A connection, and the address at its other end as the kernel reports it. */
export interface DialedConnection {
  readonly socket: Duplex;
  /** Where the bytes of the socket come, instead of from the socket. */
  readonly reads?: Reads;
  readonly peer: string;
  /** Both ends are this host: the kernel knows addresses of its own that no list of interfaces has. */
  readonly isOwn?: boolean;
}

/** Connects to an address, never to a name. Rejects when it cannot, and when `signal` aborts. */
export type EgressDial = (address: string, port: number, signal: AbortSignal) => Promise<DialedConnection>;

export interface EgressDeps {
  settings(): EgressSettings;
  clock: Clock;
  random: Random;
  /** Called for joined decisions, at most 60 times a minute for a sandbox. Must not throw. */
  onEvent(event: EgressEvent): void;
  /** Default: as `settings().resolver` says. */
  resolver?: EgressResolver;
  /** Default: a TCP connection to exactly this address. */
  dial?: EgressDial;
  /** Authorities in PEM of targets that get a credential. Default: those of Node. */
  roots?: readonly string[];
  /** Addresses and blocks that lead to this host; read at most every 30 s. */
  ownAddresses(): readonly string[];
}
