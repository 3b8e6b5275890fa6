// What a failed command may have failed by: connections that the policy of its sandbox refused. Programs often name them badly.
import type { Client } from '../client/client.ts';
import { reasonText } from '../domain/egress/reason-text.ts';
import type { EgressReason } from '../schema/egress.ts';
import { egressTarget } from './egress-view.ts';
import { line, print } from './print.ts';

const MOST_SHOWN = 3;

const REMEDIES: Partial<Record<EgressReason, string>> = {
  not_allowed: 'Allow it with --allow HOST.',
  port_not_allowed: 'Allow it with --allow HOST:PORT.',
  address_private: 'The operator opens such a name by egress.private_names (docs/network.md).',
};

/** Prints a few of them on standard error, each once, with what to do about the first. Never rejects. */
export async function printRefused(client: Pick<Client, 'egress'>, id: string): Promise<void> {
  const refused = await client.egress.log(id, { limit: 1000, decision: 'denied' }).catch(() => []);
  const reasons = new Map(
    refused.map((one) => [`${egressTarget(one)} ${reasonText(one.reason)}`, one.reason]),
  );
  for (const text of [...reasons.keys()].slice(0, MOST_SHOWN)) print(line`refused: ${text}`, process.stderr);
  if (reasons.size > MOST_SHOWN) print(line`refused: ${reasons.size - MOST_SHOWN} more`, process.stderr);
  const remedy = [...reasons.values()].map((reason) => REMEDIES[reason]).find((text) => text !== undefined);
  if (remedy !== undefined) print(line`Try: ${remedy}`, process.stderr);
}
