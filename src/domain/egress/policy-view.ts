// A policy as the API shows it, and the placeholders that its credentials give to programs.
import type { PolicyCredential } from '../../schema/credential.ts';
import type { EgressPolicy, SandboxEgress } from '../../schema/egress.ts';
import { MASKED } from '../masked.ts';

/** Shows no value of its credentials. */
export function shownPolicy(policy: EgressPolicy): EgressPolicy {
  const { credentials } = policy;
  if (credentials === undefined) return policy;
  const masked = credentials.map((each) => (typeof each === 'string' ? each : { ...each, value: MASKED }));
  return { ...policy, credentials: masked };
}

const nameOf = (each: PolicyCredential) => (typeof each === 'string' ? each : each.name);

/** The names of the credentials in both layers, each once. */
export function credentialNames({ template, spawn }: Pick<SandboxEgress, 'template' | 'spawn'>): string[] {
  return [...new Set([template, spawn].flatMap((layer) => layer?.credentials ?? []).map(nameOf))];
}

/** What programs get in place of the value. */
export const placeholderOf = (name: string) => `svc-credential-${name}`;
