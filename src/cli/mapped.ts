// Items as lines of text.

/** Each item as `show` writes it. */
export async function* mapped<T>(items: AsyncIterable<T>, show: (item: T) => string): AsyncGenerator<string> {
  for await (const item of items) yield show(item);
}
