// One call of the control API of E2B, as its handlers see it.
import type { Caller } from '../../control/api/caller.ts';
import type { ControlPlane } from '../../control/api/control-plane.ts';
import type { Hold } from '../../domain/byte-ledger.ts';
import type { Config } from '../../schema/config.ts';
import type { KeyScope } from '../../schema/key-words.ts';
import type { Method } from '../paths.ts';
import type { Fields } from './read-body.ts';

export interface ControlCall {
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  body: Fields;
  caller: Caller;
  idempotencyKey: { idempotencyKey?: string };
  settings: Config['e2b'];
  host: string | undefined;
  /** Aborts when the client has disconnected. */
  signal: AbortSignal;
  hold: Hold;
}

/** An answer without a body is a 204. */
export interface ControlResult {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
  /** The id of what was created, for the audit. */
  created?: string;
}

export interface ControlRoute {
  id: string;
  method: Method;
  /** As the router writes them; all serve the same. */
  paths: readonly string[];
  scope: KeyScope;
  audited: 'frequent' | 'never';
  handler(call: ControlCall, control: ControlPlane): Promise<ControlResult>;
}
