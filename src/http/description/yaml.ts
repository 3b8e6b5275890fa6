// YAML of plain JSON values in block style. Every string is quoted as JSON, which is valid YAML, so nothing can turn into
// a number, a date or a tag. The library `yaml` takes 200 ms for this description, which would block other requests.

const PLAIN_KEY = /^[A-Za-z_/][A-Za-z0-9_/{}.-]*$/;
/** Words that YAML 1.1 reads as booleans or null. */
const RESERVED = /^(y|n|yes|no|on|off|true|false|null)$/i;

/** Ends with a line feed. `value` is an object. */
export function toYaml(value: object): string {
  return `${block(value, '').trimStart()}\n`;
}

function block(value: unknown, indent: string): string {
  if (typeof value !== 'object' || value === null) return ` ${JSON.stringify(value)}`;
  if (Array.isArray(value)) {
    if (value.length === 0) return ' []';
    return value.map((item) => `\n${indent}-${afterDash(item, indent)}`).join('');
  }
  const entries = Object.entries(value).filter(([, entry]) => entry !== undefined);
  if (entries.length === 0) return ' {}';
  return entries.map(([key, entry]) => `\n${indent}${keyText(key)}:${block(entry, `${indent}  `)}`).join('');
}

/** The first entry of a list item stands on the line of its dash. */
function afterDash(item: unknown, indent: string): string {
  const text = block(item, `${indent}  `);
  return text.startsWith('\n') ? ` ${text.slice(indent.length + 3)}` : text;
}

function keyText(key: string): string {
  return PLAIN_KEY.test(key) && !RESERVED.test(key) ? key : JSON.stringify(key);
}
