// Schemas as the description holds them: those with an id once, under components, and a reference wherever they occur.

import { DESCRIBED, type NamedRules } from '../../schema/described.ts';

export class SchemaShelf {
  readonly #schemas = new Map<string, unknown>();

  has(id: string): boolean {
    return this.#schemas.has(id);
  }

  put(id: string, schema: unknown): void {
    this.#schemas.set(id, schema);
  }

  /** Sorted by name, so that the document does not depend on the order of routes. */
  sorted(): Record<string, unknown> {
    return Object.fromEntries([...this.#schemas].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}

/** `schema` with every named part replaced by a reference to `shelf`, where it is put. */
export function referenced(schema: unknown, shelf: SchemaShelf): unknown {
  if (Array.isArray(schema)) return schema.map((item) => referenced(item, shelf));
  if (typeof schema !== 'object' || schema === null) return schema;
  const { $id, [DESCRIBED]: rules, ...rest } = schema as { $id?: string; [DESCRIBED]?: object };
  const entries = Object.entries(rest).map(([key, value]) => [key, referenced(value, shelf)]);
  const plain = { ...Object.fromEntries(entries), ...beside(rules, shelf) };
  return $id === undefined ? plain : shelved($id, plain, shelf);
}

/** Rules with a name are referred to in the form that readers of older descriptions know. */
function beside(rules: object | undefined, shelf: SchemaShelf): object | undefined {
  const { title } = (rules ?? {}) as Partial<NamedRules>;
  return title === undefined ? rules : { allOf: [shelved(title, rules, shelf)] };
}

function shelved(name: string, schema: unknown, shelf: SchemaShelf): object {
  if (!shelf.has(name)) shelf.put(name, schema);
  return { $ref: `#/components/schemas/${name}` };
}
