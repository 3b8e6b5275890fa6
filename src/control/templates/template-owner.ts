// Which templates a caller creates, finds and changes. Without owner enforcement all new templates are shared and
// anyone may change them. With it, and for callers whose key belongs to an owner, owners have their own templates, and only
// administrators change shared ones.
import { isKeptApart, requireOwner } from '../../domain/access.ts';
import { ServiceError } from '../../domain/errors.ts';
import { ownedKey, type TemplateKey } from '../../domain/template-key.ts';
import type { Caller } from '../api/caller.ts';

export interface OwnerRules {
  enforce_owner: boolean;
}

/**
 * The owner of a template that `caller` creates; undefined: it is shared. Throws `bad_request` as `requireOwner` does.
 */
export function ownerOfNew(rules: OwnerRules, caller: Caller): string | undefined {
  requireOwner(rules, caller);
  return rules.enforce_owner || caller.bound ? caller.owner : undefined;
}

/** The template that `caller` means by `name`. Throws `bad_request` as `requireOwner` does. */
export function meantBy(rules: OwnerRules, caller: Caller, name: string): TemplateKey {
  requireOwner(rules, caller);
  return ownedKey(name, caller.owner);
}

/** Throws `forbidden` for a shared template unless `caller` is an administrator. */
export function refuseChange(rules: OwnerRules, caller: Caller, { owner_id }: TemplateKey): void {
  if (!isKeptApart(rules, caller) || owner_id !== undefined) return;
  throw new ServiceError('forbidden', 'All owners share this template.', {
    remedy: 'Only administrators can change it. Create your own template under another name.',
  });
}
