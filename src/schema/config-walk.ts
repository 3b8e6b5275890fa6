// Reads keys and sections off the schema of the configuration. config-keys.ts holds the result.

export type KeyKind = 'text' | 'number' | 'flag' | 'duration' | 'choice' | 'list' | 'map';

export interface ConfigKey {
  /** Dotted path, for example `server.port`. */
  path: string;
  /** Its environment variable, for example `SVC_SERVER_PORT`. */
  env: string;
  kind: KeyKind;
  /** What it takes, in words that follow "must be". */
  takes: string;
  description: string;
  /** Absent when the host decides (then `defaultText` says how) and for secrets, which have none. */
  default?: unknown;
  defaultText?: string;
  /** A map of objects. */
  objects?: true;
  /** Its value is never shown; a text has a twin `<path>_file`. */
  secret: boolean;
  choices?: readonly string[];
  minimum?: number;
  maximum?: number;
}

export interface ConfigSection {
  path: string;
  description: string;
}

/** The parts of a schema node that matter here; the schema is ours, so nothing else occurs. */
interface Node {
  type?: string;
  enum?: readonly string[];
  properties?: Record<string, Node>;
  patternProperties?: Record<string, Node>;
  description?: string;
  default?: unknown;
  defaultText?: string;
  duration?: boolean;
  secret?: boolean;
  minimum?: number;
  maximum?: number;
  minLength?: number;
}

export const ENV_PREFIX = 'SVC_';

/** `server.port` → `SVC_SERVER_PORT`. */
export function envName(path: string): string {
  return ENV_PREFIX + path.toUpperCase().replaceAll('.', '_');
}

/** All keys and all sections, each list in schema order. */
export function walkSchema(node: Node, path = ''): { keys: ConfigKey[]; sections: ConfigSection[] } {
  const keys: ConfigKey[] = [];
  const sections: ConfigSection[] = [];
  for (const [name, child] of Object.entries(node.properties ?? {})) {
    const below = path === '' ? name : `${path}.${name}`;
    if (child.properties === undefined) keys.push(keyOf(child, below));
    else {
      const inner = walkSchema(child, below);
      sections.push({ path: below, description: child.description ?? '' }, ...inner.sections);
      keys.push(...inner.keys);
    }
  }
  return { keys, sections };
}

function keyOf(node: Node, path: string): ConfigKey {
  const kind = kindOf(node);
  return {
    path,
    env: envName(path),
    kind,
    takes: takesOf(node, kind),
    description: node.description ?? '',
    secret: node.secret === true,
    ...(holdsObjects(node) && { objects: true as const }),
    ...('default' in node && { default: node.default }),
    ...(node.defaultText !== undefined && { defaultText: node.defaultText }),
    ...(node.enum && { choices: node.enum }),
    ...(node.minimum !== undefined && { minimum: node.minimum }),
    ...(node.maximum !== undefined && { maximum: node.maximum }),
  };
}

const holdsObjects = ({ patternProperties = {} }: Node) =>
  Object.values(patternProperties).some(({ type }) => type === 'object');

const KINDS: Record<string, KeyKind> = { integer: 'number', boolean: 'flag', array: 'list', object: 'map' };

function kindOf(node: Node): KeyKind {
  if (node.enum) return 'choice';
  if (node.duration) return 'duration';
  return KINDS[node.type ?? ''] ?? 'text';
}

function takesOf(node: Node, kind: KeyKind): string {
  const words: Record<KeyKind, string> = {
    text: node.minLength === undefined ? 'text' : 'text that is not empty',
    number: `a whole number from ${node.minimum} to ${node.maximum}`,
    flag: 'true or false',
    duration: 'a duration like 90s, 30m or 1h30m, at most 8760h',
    choice: `one of ${node.enum?.join(', ')}`,
    list: 'a list of texts',
    map: holdsObjects(node) ? 'a map of names to maps' : 'a map of names to texts',
  };
  return words[kind];
}
