// What the control plane offers of ports in sandboxes.
import type { Duplex } from 'node:stream';
import type { PreviewTarget } from '../../domain/preview.ts';
import type { ListeningPort, PreviewLink, PreviewRequest } from '../../schema/preview.ts';
import type { Caller } from './caller.ts';

export interface Visitor {
  /** Set for one who proved a key. */
  caller?: Caller | undefined;
  /** Has a token that opens the ports of this sandbox. Throws `forbidden` for others where the ports are private. */
  isAdmitted: boolean;
}

export interface OpenPort {
  tunnel: Duplex;
  /** The Host that the program wants to see. */
  host?: string | undefined;
}

export interface Previews {
  /** `seen`: scheme and port by which the caller reached us. `not_implemented` without a domain, or where there is no tunnel. */
  link(
    id: string,
    request: PreviewRequest,
    caller: Caller,
    seen: { scheme: 'http' | 'https'; port: string },
  ): Promise<PreviewLink>;
  /**
   * TCP ports on which programs of the sandbox listen, by number, at most 1,000. The sandbox says so itself, and may say anything.
   * Throws `not_implemented` where it cannot tell them.
   */
  listening(id: string, caller: Caller, signal: AbortSignal): Promise<ListeningPort[]>;
  /** When a token ends, in ms since 1970; undefined unless it opens `target` now. */
  endOfToken(target: PreviewTarget, token: string): number | undefined;
  /** `open` for the gateway, with what the sandbox's own program wishes of its ports (domain/port-terms.ts). */
  visit(target: PreviewTarget, signal: AbortSignal, visitor: Visitor): Promise<OpenPort>;
  /**
   * Connects to the port: a visitor, who is authorized already, or a `caller`, who sees only its own sandboxes. Aborting `signal`, also later, destroys the
   * connection. Throws `unavailable` with status 502 when nothing listens or the sandbox has ended, `not_implemented`
   * where there is no tunnel.
   */
  open(target: PreviewTarget, signal: AbortSignal, caller?: Caller): Promise<Duplex>;
}
