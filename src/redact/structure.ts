// A copy of anything for the log: plain, finite and small, whatever was handed in (cycles, getters that throw,
// Proxies, huge arrays, errors with causes). Secret parts are decided by the caller.

export interface CopyLimits {
  /** Levels of nesting. */
  depth: number;
  /** Parts in all. */
  nodes: number;
  /** Characters of one text. */
  text: number;
}

/** Of a line of the log. */
const LIMITS: CopyLimits = { depth: 8, nodes: 2000, text: 16_384 };

interface CopyRules {
  /** `path` is where the text stands, keys joined by dots. */
  text(text: string, path: string): string;
  /** As `text`, for the name of a key. */
  name(key: string, path: string): string;
  /** What stands instead of a value that is secret for its key; undefined for one that is not. */
  masked(key: string, path: string, value: unknown): string | undefined;
}

interface Walk extends CopyRules {
  limits: CopyLimits;
  nodes: number;
  /** The objects on the way from the root to here. */
  above: object[];
}

/** Never throws; what is beyond `limits` is cut and says so. */
export function boundedCopy(value: unknown, rules: CopyRules, limits: CopyLimits = LIMITS): unknown {
  return copy(value, '', { ...rules, limits, nodes: 0, above: [] });
}

function copy(value: unknown, path: string, walk: Walk): unknown {
  walk.nodes += 1;
  if (walk.nodes > walk.limits.nodes) return '[cut]';
  if (typeof value === 'string') return cut(walk.text(value, path), walk.limits.text);
  if (value === null || value === undefined || typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value === 'bigint') return cut(walk.text(String(value), path), walk.limits.text);
  if (typeof value !== 'object') return `[${typeof value}]`;
  if (walk.above.includes(value)) return '[circular]';
  if (walk.above.length >= walk.limits.depth) return '[deep]';
  return copyObject(value, path, walk);
}

function copyObject(value: object, path: string, walk: Walk): unknown {
  walk.above.push(value);
  try {
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
    if (value instanceof URL) return walk.text(value.href, path);
    if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
    if (value instanceof Error) return copyEntries(errorEntries(value), path, walk);
    if (value instanceof Set) return copyList(value, path, walk);
    if (value instanceof Map) return copyEntries(mapEntries(value), path, walk);
    if (Array.isArray(value)) return copyList(value, path, walk);
    return copyEntries(ownEntries(value), path, walk);
  } catch {
    return '[unreadable]';
  } finally {
    walk.above.pop();
  }
}

function copyList(values: Iterable<unknown>, path: string, walk: Walk): unknown[] {
  const copies: unknown[] = [];
  for (const value of values) {
    copies.push(copy(value, path, walk));
    if (walk.nodes > walk.limits.nodes) break;
  }
  return copies;
}

function copyEntries(
  entries: Iterable<[string, unknown]>,
  path: string,
  walk: Walk,
): Record<string, unknown> {
  const copies: [string, unknown][] = [];
  for (const [key, value] of entries) {
    const below = path === '' ? key : `${path}.${key}`;
    copies.push([walk.name(key, path), walk.masked(key, below, value) ?? copy(value, below, walk)]);
    if (walk.nodes > walk.limits.nodes) break;
  }
  return Object.fromEntries(copies);
}

/** Lazily, so that a huge object is not read to its end; a getter that throws spoils only its own key. */
function* ownEntries(value: object): Iterable<[string, unknown]> {
  for (const key of Object.keys(value)) yield [key, read(value, key)];
}

function* mapEntries(map: Map<unknown, unknown>): Iterable<[string, unknown]> {
  for (const [key, value] of map) yield [typeof key === 'string' ? key : `[${typeof key}]`, value];
}

function* errorEntries(error: Error): Iterable<[string, unknown]> {
  yield ['name', read(error, 'name')];
  yield ['message', read(error, 'message')];
  yield ['stack', read(error, 'stack')];
  if ('cause' in error) yield ['cause', read(error, 'cause')];
  for (const key of Object.keys(error)) if (key !== 'name') yield [key, read(error, key)];
}

function read(value: object, key: string): unknown {
  try {
    return (value as Record<string, unknown>)[key];
  } catch {
    return '[unreadable]';
  }
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)}… (${text.length - most} more)`;
}
