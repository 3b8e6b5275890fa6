// Egress policies: where sandboxes may connect.
import type {
  EgressCheck,
  EgressCheckRequest,
  EgressGroup,
  EgressLogLine,
  EgressLogQuery,
  EgressPolicy,
  EgressStatus,
  EgressSuggestion,
} from '../../schema/egress.ts';
import type { Caller } from './caller.ts';

/**
 * Methods on a sandbox throw `not_found` and `conflict` as those of other parts do, `conflict` for a sandbox without a policy,
 * and `unavailable` while its gate is not open.
 */
export interface EgressPolicies {
  /**
   * What a connection would get now; opens none, and looks up only what is allowed. Throws `bad_request` for an invalid rule,
   * `not_implemented` while `egress.enabled` is false.
   */
  check(request: EgressCheckRequest, caller: Caller): Promise<EgressCheck>;
  /** The groups of rules that policies may name. */
  groups(): EgressGroup[];
  /** The policy in force. */
  get(id: string, caller: Caller): Promise<EgressStatus>;
  /** Replaces the layer of the spawn. When it resolves, connections that are no longer allowed are closed. */
  replace(id: string, policy: EgressPolicy, caller: Caller): Promise<EgressStatus>;
  /** The newest decisions, in the order of time. */
  log(id: string, query: EgressLogQuery, caller: Caller): Promise<EgressLogLine[]>;
  /** Kept decisions, then new ones until the sandbox ends or `signal` aborts; undefined after 15 s of silence. */
  follow(
    id: string,
    query: EgressLogQuery,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<AsyncIterable<EgressLogLine | undefined>>;
  /** Rules for what the log shows. */
  suggest(id: string, caller: Caller): Promise<EgressSuggestion>;
}
