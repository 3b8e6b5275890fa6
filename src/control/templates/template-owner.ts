// Whose templates a caller makes, finds and changes. Without owner enforcement all templates that are made are shared and
// anybody changes them; with it owners have their own, and those that are shared are for administrators to change.
import { requireOwner } from '../../domain/access.ts';
import { ServiceError } from '../../domain/errors.ts';
import { ownedKey, type TemplateKey } from '../../domain/template-key.ts';
import type { Caller } from '../api/caller.ts';

export interface OwnerRules {
  enforce_owner: boolean;
}

/** The owner of what `caller` makes; undefined: it is shared. Throws `bad_request` as `requireOwner`. */
export function ownerOfNew(rules: OwnerRules, caller: Caller): string | undefined {
  requireOwner(rules, caller);
  return rules.enforce_owner ? caller.owner : undefined;
}

/** What `caller` means by `name`. Throws `bad_request` as `requireOwner`. */
export function meantBy(rules: OwnerRules, caller: Caller, name: string): TemplateKey {
  requireOwner(rules, caller);
  return ownedKey(name, caller.owner);
}

/** Throws `forbidden` for a shared template of which `caller` is not an administrator. */
export function refuseChange(rules: OwnerRules, { role }: Caller, { owner_id }: TemplateKey): void {
  if (!rules.enforce_owner || role === 'admin' || owner_id !== undefined) return;
  throw new ServiceError('forbidden', 'All owners share this template.', {
    remedy: 'Only administrators can change it. Create your own template under another name.',
  });
}
