// svc.yaml with every key at its default and explained. It reads as exactly the defaults: what has none, or one that
// depends on the host, is commented out.
import { CONFIG_KEYS, CONFIG_SECTIONS, isSecretText, SECRET_FILE_SUFFIX } from '../schema/config-keys.ts';
import type { ConfigKey } from '../schema/config-walk.ts';

const WIDTH = 110;
const HEAD = `# Configuration of svc. Every key is listed with its default; delete what you do not change.
# --config or SVC_CONFIG names the only file to read; without either, ./svc.yaml is read and then ~/.svc/config.yaml.
# The variable in brackets overrides the files, a flag overrides both. \`svc config explain KEY\` explains a key,
# \`svc config show\` prints the values in force.
`;

/** Values by key path; a secret is given as the file that holds it, and null comments the key out. */
export type SampleValues = Readonly<Record<string, unknown>>;

/** The text of the file, ending in a line break; `values` stand in place of defaults. */
export function sampleConfig(values: SampleValues = {}, head: string = HEAD): string {
  const sections = CONFIG_SECTIONS.map(({ path, description }) => {
    const indent = indentOf(path);
    const keys = CONFIG_KEYS.filter((key) => parentOf(key.path) === path).map((key) => keyText(key, values));
    const blank = indent === '' ? '\n' : '';
    return `${blank}${comment(description, indent)}${indent}${nameOf(path)}:\n${keys.join('')}`;
  });
  return head + sections.join('');
}

function keyText(key: ConfigKey, values: SampleValues): string {
  const indent = indentOf(key.path);
  const notes = `${key.description} ${capital(key.takes)}. [${key.env}]`;
  return (
    comment(notes, indent) +
    lines(key, values[key.path])
      .map((line) => `${indent}${line}\n`)
      .join('')
  );
}

function lines(key: ConfigKey, value: unknown): string[] {
  const name = nameOf(key.path);
  if (value !== undefined && value !== null)
    return [`${name}${isSecretText(key) ? SECRET_FILE_SUFFIX : ''}: ${yamlOf(key, value)}`];
  if (key.secret && key.kind === 'map') return [`# ${name}: {}`];
  if (key.secret) return [`# ${name}: ""`, `# ${name}${SECRET_FILE_SUFFIX}: /etc/svc/${name}`];
  if (key.default === undefined) return [`# ${name}: ${key.defaultText}`];
  return [`${value === null ? '# ' : ''}${name}: ${yamlOf(key, key.default)}`];
}

/** JSON is YAML; durations and choices need no quotes. */
function yamlOf({ kind }: ConfigKey, value: unknown): string {
  return kind === 'duration' || kind === 'choice' ? String(value) : JSON.stringify(value);
}

function comment(text: string, indent: string): string {
  const rows: string[] = [];
  let row = '';
  for (const word of text.split(' ')) {
    if (row !== '' && indent.length + row.length + word.length + 3 > WIDTH) {
      rows.push(row);
      row = '';
    }
    row += row === '' ? word : ` ${word}`;
  }
  return [...rows, row].map((line) => `${indent}# ${line}\n`).join('');
}

const parentOf = (path: string) => path.slice(0, Math.max(0, path.lastIndexOf('.')));
const nameOf = (path: string) => path.slice(path.lastIndexOf('.') + 1);
const indentOf = (path: string) => '  '.repeat(path.split('.').length - 1);
const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
