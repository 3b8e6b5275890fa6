// Whether a name leads from this machine to an address that policies let through.
import { lookup } from 'node:dns/promises';
import { defined } from '../../../domain/defined.ts';
import { egressHost } from '../../../domain/egress/host.ts';
import { privateNames } from '../../../domain/egress/layers.ts';
import { judgeAddress } from '../../../domain/egress/policy.ts';
import type { Config } from '../../../schema/config.ts';

/** As the machine's own look-up, with its hosts file, says. */
export async function reach(egress: Config['egress'], name: string) {
  const found = await lookup(name, { all: true }).catch(() => []);
  const host = egressHost(name);
  const isNamed = host && privateNames(egress).some((rule) => rule.matches(host));
  const facts = {
    isPermittedPrivate: () => false,
    isOwn: () => false,
    ...defined({ privateName: isNamed ? host : undefined }),
  };
  const isAllowed = found.some(({ address }) => judgeAddress([], address, HTTPS_PORT, facts).allowed);
  return { name, isKnown: found.length > 0, isRefused: found.length > 0 && !isAllowed };
}

const HTTPS_PORT = 443;
