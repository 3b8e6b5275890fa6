// Why a connection is refused, as the end of a sentence that begins with its target: `example.com:443 …`.
import type { EgressReason } from '../../schema/egress.ts';

const BY_POLICY = 'is not allowed by the egress policy of this sandbox.';
const NOT_REACHABLE = 'leads to an address that sandboxes may not reach.';

const TEXTS: Record<EgressReason, string> = {
  rule_allow: '',
  default_allow: '',
  rule_deny: 'is refused by a rule of the egress policy of this sandbox.',
  not_allowed: BY_POLICY,
  port_not_allowed: 'is a port that the egress policy of this sandbox does not allow.',
  address_private: 'leads to a private address, which the operator has not opened to sandboxes.',
  address_loopback: NOT_REACHABLE,
  address_link_local: NOT_REACHABLE,
  address_metadata: NOT_REACHABLE,
  address_own_host: NOT_REACHABLE,
  address_not_one_host: NOT_REACHABLE,
  address_denied: 'leads to an address that the egress policy of this sandbox refuses.',
  policy_changed: 'is no longer allowed by the egress policy of this sandbox.',
  name_invalid: 'is not a valid host and port.',
  sni_mismatch: 'was asked for by another server name in TLS.',
  host_mismatch: 'is not the host of the Host header.',
  method_denied: 'cannot be reached by this method.',
  bytes: 'was refused: this sandbox has used all bytes of its egress policy.',
  rate: 'was refused: this sandbox opens too many connections. Retry later.',
  connections: 'was refused: too many connections are open. Close some, then retry.',
  name_not_found: 'has no address.',
  unreachable: 'could not be reached.',
  timeout: 'did not answer in time.',
  tls_failed: 'could not be reached by TLS with a valid certificate.',
};

/** Empty for what is allowed. */
export const reasonText = (reason: EgressReason): string => TEXTS[reason];
