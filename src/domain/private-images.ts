// Who may use the credentials for registries, and the images that were pulled with them (docs/registries.md#credentials).
import { type AccessRules, type Asking, isKeptApart } from './access.ts';
import type { PulledFor } from './machine-images.ts';

interface PrivateRules extends Pick<AccessRules, 'enforce_owner'> {
  /** images.private_owners */
  privateOwners: readonly string[];
}

/** Whether images.private_owners names the owner. */
export const mayUsePrivate = (owners: readonly string[], owner: string | undefined): boolean =>
  owners.includes('*') || (owner !== undefined && owners.includes(owner));

/** A caller that is not kept apart sees the sandboxes of all owners, and acts for the operator. */
export function opensPrivate(
  rules: PrivateRules,
  caller: Pick<Asking, 'role' | 'bound'>,
  owner: string | undefined,
): boolean {
  return !isKeptApart(rules, caller) || mayUsePrivate(rules.privateOwners, owner);
}

/** For whom an image is that the caller pulls by a call of its own, rather than for a sandbox. */
export function pulledBy(rules: PrivateRules, caller: Asking): PulledFor {
  if (!isKeptApart(rules, caller)) return 'all';
  return mayUsePrivate(rules.privateOwners, caller.owner) ? 'trusted' : 'anyone';
}
