// Egress policies.
import type {
  EgressCheck,
  EgressCheckRequest,
  EgressGroup,
  EgressLogLine,
  EgressLogQuery,
  EgressPolicy,
  EgressStatus,
  EgressSuggestion,
} from '../schema/egress.ts';
import type { CallTerms } from './call.ts';
import { ClientPart } from './client-part.ts';

type LogQuery = Omit<EgressLogQuery, 'follow'>;

export class EgressClient extends ClientPart {
  /** What a connection would get now; opens none. */
  check(request: EgressCheckRequest, { signal }: CallTerms = {}): Promise<EgressCheck> {
    return this.call('checkEgress', { json: request, signal });
  }

  /** The policy in force for a sandbox. */
  get(id: string, { signal }: CallTerms = {}): Promise<EgressStatus> {
    return this.call('getEgress', { params: { id }, signal });
  }

  /** Replaces the policy of the spawn; connections that it no longer allows are closed when this resolves. */
  set(id: string, policy: EgressPolicy, { signal }: CallTerms = {}): Promise<EgressStatus> {
    return this.call('putEgress', { params: { id }, json: policy, signal });
  }

  /** The newest decisions, oldest first. */
  log(id: string, query: LogQuery = {}, { signal }: CallTerms = {}): Promise<EgressLogLine[]> {
    return this.call('egressLog', { params: { id }, query, signal });
  }

  /** The same, then new decisions until the sandbox ends or the client is closed. */
  followLog(id: string, query: LogQuery = {}, { signal }: CallTerms = {}): AsyncGenerator<EgressLogLine> {
    return this.follow('egressLog', { params: { id }, query: { ...query, follow: true }, signal });
  }

  /** Rules for what the decision log shows. */
  suggest(id: string, { signal }: CallTerms = {}): Promise<EgressSuggestion> {
    return this.call('suggestEgress', { params: { id }, signal });
  }

  /** The groups of rules that policies may name. */
  groups({ signal }: CallTerms = {}): Promise<EgressGroup[]> {
    return this.call('egressGroups', { signal });
  }
}
