// Which template: its owner and its name. Neither holds a slash, so both fit into one text.
export interface TemplateKey {
  name: string;
  /** Absent: it is shared. */
  owner_id?: string;
}

/** `ann/python`; a shared one is its name alone. */
export function formatTemplateKey({ name, owner_id }: TemplateKey): string {
  return owner_id === undefined ? name : `${owner_id}/${name}`;
}

/** What `formatTemplateKey` was given. */
export function parseTemplateKey(text: string): TemplateKey {
  const slash = text.indexOf('/');
  return slash < 0 ? { name: text } : { owner_id: text.slice(0, slash), name: text.slice(slash + 1) };
}

export function ownedKey(name: string, owner_id: string | undefined): TemplateKey {
  return owner_id === undefined ? { name } : { name, owner_id };
}
