// The outgoing connections of a sandbox, as a session hands them out (gate.ts). Types only.
import type { Duplex } from 'node:stream';

/** Who connected, and where to, as the sandbox reports it. */
export interface GateOrigin {
  /** User inside the sandbox; undefined when the agent did not find the socket, for example after the program has ended. */
  uid: number | undefined;
  /** The port of the program's socket. */
  peerPort: number;
  /** In the transparent gate: what the program asked for, the name or the address. Absent at the proxy port. */
  target?: { host: string; port: number };
}

export interface GateOrder {
  /** On the loopback of the sandbox; 0 closes it. */
  proxy_port: number;
  /** Ports of the transparent gate, at most 64; undefined: none is wanted, and one that is there closes its ports. */
  ports?: readonly number[];
}

export interface GateMade {
  /** False: another program has the proxy port. */
  proxy: boolean;
  /** The transparent gate. */
  gate: boolean;
  /** Ports of the gate that could not be had. */
  missing: number[];
}

export interface GateConnection {
  origin: GateOrigin;
  /** Bytes of the program. Destroying it resets the program's connection. */
  socket: Duplex;
}

/** Where programs of the sandbox find a certificate that they are to trust. */
export interface TrustMade {
  /** `/.svc-trust/ca.pem` has it, and `roots.pem` beside it has it with those of the system. */
  files: boolean;
  /** The system's own file has it, too. */
  system: boolean;
}

export interface SandboxGate {
  /**
   * Makes programs trust a certificate of an authority, in PEM; `roots` stand for those of a system that has none. Idempotent.
   * Absent with agents of earlier versions.
   */
  trust?(certificate: string, roots: string): Promise<TrustMade>;
  /**
   * Opens exactly these ports. Idempotent: connections that wait at a port that stays open stay. They stay open after this
   * session.
   */
  open(order: GateOrder): Promise<GateMade>;
  /**
   * Waits for the next connection, first come, first served; there is no limit of time. Rejects when `signal` aborts, which also
   * resets a connection that came, and when the session ends. `resource_limit` with 256 open or awaited.
   */
  accept(signal?: AbortSignal): Promise<GateConnection>;
}
