// Writes the fields of a log line without a copy of them, where all are short texts, numbers and booleans, as those of the line
// that each request leaves. What repeats from line to line is looked at for secrets once.

/** What each line has of its own: fields of these names are renamed in a copy. */
export const OWN_NAMES = ['time', 'level', 'message'];

const MOST_FIELDS = 32;
const LONGEST_TEXT = 1024;
/** Names of keys that are remembered: a name's most characters, and how many of them. */
export const LONGEST_NAME = 64;
export const MOST_NAMES = 1000;

export type Clean = (text: string, path: string) => string;

export interface FlatRules {
  /** Returns the text without secrets. */
  text: Clean;
  /** Whether values of this key are written as they are but for their text. */
  isPlain(key: string): boolean;
}

/** Returns `text` without secrets as JSON. */
export type QuotedText = (text: string, path?: string) => string;

/** Looks at the same harmless text once, as long as no other comes between. */
export function quotedText(clean: Clean): QuotedText {
  let last: string | undefined;
  let json = '';
  return (text, path = '') => {
    if (text === last) return json;
    const harmless = clean(text, path);
    if (harmless !== text || text.length > LONGEST_TEXT) return JSON.stringify(harmless);
    last = text;
    json = JSON.stringify(text);
    return json;
  };
}

interface Field {
  /** The name as JSON, and a colon. */
  lead: string;
  quoted: QuotedText;
}

/** Returns the members as JSON writes them, joined by commas; undefined for fields that need a copy. */
export type FlatJson = (fields: object) => string | undefined;

export function flatJson(rules: FlatRules): FlatJson {
  const known = new Map<string, Field>();
  const fieldOf = (key: string): Field | undefined => {
    const field = known.get(key);
    if (field || known.size >= MOST_NAMES || key.length > LONGEST_NAME) return field;
    if (OWN_NAMES.includes(key) || !rules.isPlain(key)) return undefined;
    const made = { lead: `${JSON.stringify(key)}:`, quoted: quotedText(rules.text) };
    known.set(key, made);
    return made;
  };
  return (fields) => {
    if (Object.getPrototypeOf(fields) !== Object.prototype) return undefined;
    let members = '';
    let count = 0;
    for (const key of Object.keys(fields)) {
      const field = fieldOf(key);
      const value = (fields as Record<string, unknown>)[key];
      if (!field || ++count > MOST_FIELDS) return undefined;
      if (count > 1) members += ',';
      if (typeof value === 'string' && value.length <= LONGEST_TEXT)
        members += field.lead + field.quoted(value, key);
      else if ((typeof value === 'number' && Number.isFinite(value)) || typeof value === 'boolean')
        members += field.lead + String(value);
      else return undefined;
    }
    return members;
  };
}
