// Owners are not secret, but a bundle goes to people who need not know who they are. Values under keys that name an
// owner are found first, and are then renamed wherever they stand as words of their own.
import type { Ledger } from '../../redact/ledger.ts';

const OWNER_KEYS = ['owner_id', 'user_id', 'owner', 'user', 'x-user-id'];
const SHORTEST_IN_TEXT = 3;
const MOST = 5000;
const DEEPEST = 12;

export interface Owners {
  value(key: string, path: string, value: unknown): string | undefined;
  text(text: string, path: string): string;
}

/** For the redactor of a bundle with these sections. */
export function ownersIn(sections: unknown, ledger: Ledger): Owners {
  const found = new Set<string>();
  collect(sections, found, 0);
  const words = [...found]
    .filter((owner) => owner.length >= SHORTEST_IN_TEXT)
    .sort((a, b) => b.length - a.length);
  const pattern =
    words.length > 0
      ? new RegExp(`(?<![\\w-])(?:${words.map(escaped).join('|')})(?![\\w-])`, 'g')
      : undefined;
  return {
    value: (key, path, value) =>
      OWNER_KEYS.includes(key) && typeof value === 'string' && value !== ''
        ? ledger.rename('owner', value, path)
        : undefined,
    text: (text, path) =>
      pattern ? text.replace(pattern, (owner) => ledger.rename('owner', owner, path)) : text,
  };
}

function collect(value: unknown, found: Set<string>, depth: number): void {
  if (typeof value !== 'object' || value === null || depth > DEEPEST) return;
  for (const [key, inner] of Object.entries(value)) {
    if (OWNER_KEYS.includes(key) && typeof inner === 'string' && found.size < MOST) found.add(inner);
    else collect(inner, found, depth + 1);
  }
}

const escaped = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
