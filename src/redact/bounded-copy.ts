// Copies any value for the log into a plain, finite, small one (cycles, getters that throw, proxies, huge arrays, errors with
// causes). The caller decides what is secret.

export interface CopyLimits {
  /** Levels of nesting. */
  depth: number;
  /** Total number of values. */
  nodes: number;
  /** Maximum characters of one text. */
  text: number;
  /** Total characters that are read, which bounds the time. */
  total: number;
}

/** Limits of a log line. */
const LIMITS: CopyLimits = { depth: 8, nodes: 2000, text: 16_384, total: 65_536 };

interface CopyRules {
  /** `path` is the position of the text, keys joined by dots. */
  text(text: string, path: string): string;
  /** Like `text`, for the name of a key. */
  name(key: string, path: string): string;
  /** The replacement for a value that is secret because of its key, otherwise undefined. */
  masked(key: string, path: string, value: unknown): string | undefined;
}

/** Never throws. Marks what it cuts at `limits`. */
export function boundedCopy(value: unknown, rules: CopyRules, limits: CopyLimits = LIMITS): unknown {
  return new Walk(rules, limits).copy(value, '');
}

/** One walk through one value. Every log line needs one, so it allocates only the copy. */
class Walk {
  readonly #rules: CopyRules;
  readonly #limits: CopyLimits;
  /** The ancestors of the current value. */
  readonly #above: object[] = [];
  #nodes = 0;
  #looked = 0;

  constructor(rules: CopyRules, limits: CopyLimits) {
    this.#rules = rules;
    this.#limits = limits;
  }

  copy(value: unknown, path: string): unknown {
    this.#nodes += 1;
    if (this.#isFull()) return '[cut]';
    if (typeof value === 'string') return this.#text(value, path);
    if (value === null || value === undefined || typeof value === 'boolean') return value;
    if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
    if (typeof value === 'bigint') return this.#text(String(value), path);
    if (typeof value !== 'object') return `[${typeof value}]`;
    if (this.#above.includes(value)) return '[circular]';
    if (this.#above.length >= this.#limits.depth) return '[deep]';
    return this.#object(value, path);
  }

  #isFull(): boolean {
    return this.#nodes > this.#limits.nodes;
  }

  #text(text: string, path: string): string {
    this.#looked += Math.min(text.length, this.#limits.text + MARGIN);
    if (this.#looked > this.#limits.total) return '[cut]';
    return cutClean(text, this.#limits.text, (head) => this.#rules.text(head, path));
  }

  #object(value: object, path: string): unknown {
    this.#above.push(value);
    try {
      // The common case first.
      if (Object.getPrototypeOf(value) === Object.prototype) return this.#own(value, path);
      if (Array.isArray(value)) return this.#list(value, path);
      if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
      if (value instanceof URL) return this.#rules.text(value.href, path);
      if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
      if (value instanceof Error) return this.#entries(errorEntries(value), path);
      if (value instanceof Set) return this.#list(value, path);
      if (value instanceof Map) return this.#entries(mapEntries(value), path);
      return this.#own(value, path);
    } catch {
      return '[unreadable]';
    } finally {
      this.#above.pop();
    }
  }

  #list(values: Iterable<unknown>, path: string): unknown[] {
    const copies: unknown[] = [];
    for (const value of values) {
      copies.push(this.copy(value, path));
      if (this.#isFull()) break;
    }
    return copies;
  }

  /** Stops early in a huge object. A getter that throws affects only its own key. */
  #own(value: object, path: string): Record<string, unknown> {
    const copies = {};
    for (const key of Object.keys(value)) {
      put(copies, this.#rules.name(key, path), this.#part(key, read(value, key), path));
      if (this.#isFull()) break;
    }
    return copies;
  }

  #entries(entries: Iterable<[string, unknown]>, path: string): Record<string, unknown> {
    const copies = {};
    for (const [key, value] of entries) {
      put(copies, this.#rules.name(key, path), this.#part(key, value, path));
      if (this.#isFull()) break;
    }
    return copies;
  }

  #part(key: string, value: unknown, path: string): unknown {
    const below = path === '' ? key : `${path}.${key}`;
    return this.#rules.masked(key, below, value) ?? this.copy(value, below);
  }
}

/** Setting `__proto__` would change what the copy is, not what it holds. */
function put(copies: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') copies[name] = value;
  else Object.defineProperty(copies, name, { value, enumerable: true, configurable: true, writable: true });
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

/** Longer than secrets are: that much is looked at beyond what is shown. */
const MARGIN = 16 * 1024;

/**
 * The first `most` characters of `text` after `clean`, which sees only a little more. What stands at the end of that may be
 * half of a secret that `clean` does not know by its half, so it is not shown, wherever it has moved to.
 */
export function cutClean(text: string, most: number, clean: (head: string) => string): string {
  if (text.length <= most + MARGIN) return cut(clean(text), most);
  const cleaned = clean(text.slice(0, most + MARGIN));
  const shown = Math.max(0, Math.min(most, cleaned.length - MARGIN));
  return `${cleaned.slice(0, shown)}… (${text.length - shown} more)`;
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)}… (${text.length - most} more)`;
}
