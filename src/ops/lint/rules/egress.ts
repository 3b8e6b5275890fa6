// Rules about the outgoing connections of sandboxes by policy.
import { egressGroups } from '../../../domain/egress/layers.ts';
import type { EgressConfig } from '../../../schema/config-egress.ts';
import { entryFindings, findingIf, rulesOf } from '../rule.ts';

/** Bits of the prefix of a block that is still no wider than 65,536 addresses of IPv4, or a site of IPv6. */
const NARROW = { four: 16, six: 48 };

function isWide(block: string): boolean {
  const [address = '', bits] = block.split('/');
  return bits !== undefined && Number(bits) < (address.includes(':') ? NARROW.six : NARROW.four);
}

export const EGRESS_RULES = rulesOf('egress', [
  {
    id: 'SVC721',
    key: 'egress.default_policy.default',
    title: 'Sandboxes reach every public address unless their spawn says otherwise.',
    why: 'A program that is fooled, or hostile, can send what it sees to anybody, and load what it likes.',
    remedy:
      'Set egress.default_policy.default to deny, and list what sandboxes need in egress.default_policy.allow.',
    example: "egress:\n  default_policy: {default: deny, allow: ['@packages']}\n",
    level: 'warning',
    production: 'error',
    check: ({ config: { egress } }) => findingIf(egress.enabled && egress.default_policy.default === 'allow'),
  },
  {
    id: 'SVC722',
    key: 'egress.allow_private',
    title: 'Policies may allow a wide block of private addresses.',
    why: 'Whoever writes a policy can then reach every service of such a network that asks for no key.',
    remedy: 'Name the hosts or small blocks that sandboxes need.',
    example: 'egress:\n  allow_private: [10.20.0.0/24]\n',
    level: 'warning',
    production: 'warning',
    check: ({ config: { egress } }) =>
      entryFindings(egress.allow_private, isWide, (block) => `Policies may allow all of ${block}.`),
  },
  {
    id: 'SVC723',
    key: 'secrets.key',
    title: 'Servers of a PostgreSQL database cannot store egress credentials.',
    why: 'Secrets are sealed with a key that all servers of the database share, and nothing makes it for them: setting a credential answers 501.',
    remedy:
      'Write at least 32 random characters to a file on every server, and set secrets.key_file to its path.',
    example: 'secrets:\n  key_file: /etc/svc/secrets-key\n',
    level: 'off',
    production: 'warning',
    check: ({ config: { database, egress, secrets } }) =>
      findingIf(egress.enabled && database.url !== undefined && secrets.key === undefined),
  },
  {
    id: 'SVC724',
    key: 'egress.private_names',
    title: 'Policies may reach every name below a domain at private addresses.',
    why: 'Whoever can add names below it decides which services inside sandboxes reach.',
    remedy: 'Name the hosts that sandboxes need.',
    example: 'egress:\n  private_names: [mirror.example.com]\n',
    level: 'warning',
    production: 'warning',
    check: ({ config: { egress } }) =>
      entryFindings(
        egress.private_names,
        (entry) => wildcards(egress, entry).length > 0,
        (entry) =>
          `Policies may reach every name of ${wildcards(egress, entry).join(', ')} at private addresses.`,
      ),
  },
  {
    id: 'SVC725',
    key: 'egress.credential_terms',
    title: 'A credential of the configuration serves nobody.',
    why: 'Without owners no policy can name it: a spawn that does is refused.',
    remedy:
      "Set owners in its entry of egress.credential_terms: names of owners, or ['*'] for all sandboxes.",
    example:
      "egress:\n  credentials: {openai: the key}\n  credential_terms:\n    openai: {hosts: [api.openai.com], format: 'Bearer {value}', owners: ['*']}\n",
    level: 'warning',
    production: 'warning',
    check: ({ config: { egress } }) =>
      Object.entries(egress.credential_terms).flatMap(([name, { owners = [] }]) =>
        owners.length > 0 ? [] : [{ message: `The credential ${name} has no owners.` }],
      ),
  },
]);

/** Those of an entry of private_names, which may be a group. */
function wildcards(egress: EgressConfig, entry: string): string[] {
  const names = entry.startsWith('@') ? (egressGroups(egress)[entry.slice(1)] ?? []) : [entry];
  return names.filter((name) => name.startsWith('*.'));
}
