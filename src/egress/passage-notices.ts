// What a decision about a passage tells the feed of events.
import { facts } from './decide.ts';
import type { AppliedEgress } from './egress.ts';
import type { Notice } from './notices.ts';
import type { Passage } from './passage.ts';
import { decisionOf } from './refusal.ts';

const LIMITED = ['rate', 'bytes', 'connections'];

/** Empty where the policy logs less. */
export function noticesOf(passage: Passage, sandbox_id: string, { log }: AppliedEgress): Notice[] {
  const { reason } = passage.verdict;
  const decision = decisionOf(reason);
  if (log === 'none') return [];
  const { port, credential } = passage.ask;
  const { host } = passage;
  if (decision === 'allowed' && credential !== undefined)
    return [{ type: 'egress.credential_used', sandbox_id, host, port, reason, credential }];
  if (decision === 'allowed' && log !== 'all') return [];
  const refused = LIMITED.includes(reason) ? 'egress.limited' : 'egress.denied';
  const type = decision === 'allowed' ? 'egress.allowed' : refused;
  const by = facts({ rule: undefined, layer: undefined, ...passage.verdict });
  return [{ type, sandbox_id, host, port, ...by }];
}
