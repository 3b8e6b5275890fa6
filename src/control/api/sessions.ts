// Sessions of the console: a short login on a key that exists.
import type { LoginCode, Session, SessionCreate, SessionWithToken } from '../../schema/session.ts';
import type { Caller } from './caller.ts';

export interface Sessions {
  /**
   * The answer alone holds the token. Throws `conflict` while authentication is off, `forbidden` for a session that opens
   * another, `bad_request` where owners are enforced and none is named.
   */
  open(request: SessionCreate, caller: Caller): Promise<SessionWithToken>;
  /** A code that opens such a session once, within a minute, without the key. Throws as `open` does. */
  code(request: SessionCreate, caller: Caller): Promise<LoginCode>;
  /** Opens the session of a code. Throws `unauthorized` for one that is not valid. */
  exchange(code: string): Promise<SessionWithToken>;
  /** The session by which the caller came; undefined for a key. */
  current(caller: Caller): Session | undefined;
  /** Moves the end of the caller's session to now + `console.session_idle`, at most to `ends_at`. Throws `conflict` for a key. */
  renew(caller: Caller): Promise<Session>;
  /** Ends the caller's session. Throws `conflict` for a key. */
  end(caller: Caller): Promise<Session>;
  /** All sessions that have not ended, newest first. */
  list(): Session[];
  /** Ends the session of this id. Throws `not_found`. */
  revoke(id: string): Promise<Session>;
  /** What the console shows of the configuration. */
  settings(): { label: string; label_colour: string; authentication: boolean; enforce_owner: boolean };
}
