// Identifies a template by owner and name. Neither contains a slash, so both fit into one text.
export interface TemplateKey {
  name: string;
  /** Absent for a shared template. */
  owner_id?: string;
}

/** Such as `ann/python`; a shared template is its name alone. */
export function formatTemplateKey({ name, owner_id }: TemplateKey): string {
  return owner_id === undefined ? name : `${owner_id}/${name}`;
}

/** The inverse of `formatTemplateKey`. */
export function parseTemplateKey(text: string): TemplateKey {
  const slash = text.indexOf('/');
  return slash < 0 ? { name: text } : { owner_id: text.slice(0, slash), name: text.slice(slash + 1) };
}

export function ownedKey(name: string, owner_id: string | undefined): TemplateKey {
  return owner_id === undefined ? { name } : { name, owner_id };
}
