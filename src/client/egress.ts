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
  check(request: EgressCheckRequest, terms: CallTerms = {}): Promise<EgressCheck> {
    return this.call('checkEgress', { json: request, ...terms });
  }

  /** The policy in force for a sandbox. */
  get(id: string, terms: CallTerms = {}): Promise<EgressStatus> {
    return this.call('getEgress', { params: { id }, ...terms });
  }

  /** Replaces the policy of the spawn; connections that it no longer allows are closed when this resolves. */
  set(id: string, policy: EgressPolicy, terms: CallTerms = {}): Promise<EgressStatus> {
    return this.call('putEgress', { params: { id }, json: policy, ...terms });
  }

  /** The newest decisions, oldest first. */
  log(id: string, query: LogQuery = {}, terms: CallTerms = {}): Promise<EgressLogLine[]> {
    return this.call('egressLog', { params: { id }, query, ...terms });
  }

  /** The same, then new decisions until the sandbox ends or the client is closed. */
  followLog(id: string, query: LogQuery = {}, terms: CallTerms = {}): AsyncGenerator<EgressLogLine> {
    return this.follow('egressLog', { params: { id }, query: { ...query, follow: true }, ...terms });
  }

  /** Rules for what the decision log shows. */
  suggest(id: string, terms: CallTerms = {}): Promise<EgressSuggestion> {
    return this.call('suggestEgress', { params: { id }, ...terms });
  }

  /** The groups of rules that policies may name. */
  groups(terms: CallTerms = {}): Promise<EgressGroup[]> {
    return this.call('egressGroups', { ...terms });
  }
}
