// Schemas as the description holds them: those with an id once, under components, and a reference wherever they occur.

export class SchemaShelf {
  readonly #schemas = new Map<string, unknown>();

  has(id: string): boolean {
    return this.#schemas.has(id);
  }

  put(id: string, schema: unknown): void {
    this.#schemas.set(id, schema);
  }

  /** By name, so that the document does not change with the order of routes. */
  sorted(): Record<string, unknown> {
    return Object.fromEntries([...this.#schemas].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}

/** `schema` with every named part replaced by a reference to `shelf`, where it is put. */
export function referenced(schema: unknown, shelf: SchemaShelf): unknown {
  if (Array.isArray(schema)) return schema.map((item) => referenced(item, shelf));
  if (typeof schema !== 'object' || schema === null) return schema;
  const { $id, ...rest } = schema as { $id?: string };
  const entries = Object.entries(rest).map(([key, value]) => [key, referenced(value, shelf)]);
  if ($id === undefined) return Object.fromEntries(entries);
  if (!shelf.has($id)) shelf.put($id, Object.fromEntries(entries));
  return { $ref: `#/components/schemas/${$id}` };
}
