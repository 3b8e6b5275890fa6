// What a failed command may have failed by: connections that its sandbox did not get. Programs often name them badly.
import type { Client } from '../client/client.ts';
import { reasonText } from '../domain/egress/reason-text.ts';
import type { EgressLogLine, EgressReason } from '../schema/egress.ts';
import { egressTarget } from './egress-view.ts';
import { line, print } from './print.ts';

const MOST_SHOWN = 3;

const REMEDIES: Partial<Record<EgressReason, string>> = {
  not_allowed: 'Allow it with --allow HOST.',
  port_not_allowed: 'Allow it with --allow HOST:PORT.',
  address_private: 'The operator opens such a name by egress.private_names (docs/network.md).',
};
const WORDS = { allowed: '', denied: 'refused', failed: 'failed' } as const;

/** Prints a few of them on standard error, each once, the refused ones first, with what to do about the first. Never rejects. */
export async function printRefused(client: Pick<Client, 'egress'>, id: string): Promise<void> {
  const log = await client.egress.log(id, { limit: 1000 }).catch((): EgressLogLine[] => []);
  const wanted = (['denied', 'failed'] as const).flatMap((each) =>
    log.filter(({ decision }) => decision === each),
  );
  const reasons = new Map(
    wanted.map((one) => [
      `${WORDS[one.decision]}: ${egressTarget(one)} ${reasonText(one.reason)}`,
      one.reason,
    ]),
  );
  for (const text of [...reasons.keys()].slice(0, MOST_SHOWN)) print(line`${text}`, process.stderr);
  if (reasons.size > MOST_SHOWN) print(line`${reasons.size - MOST_SHOWN} more`, process.stderr);
  const remedy = [...reasons.values()].map((reason) => REMEDIES[reason]).find((text) => text !== undefined);
  if (remedy !== undefined) print(line`Try: ${remedy}`, process.stderr);
}
