// docs/configuration.md: every key in tables, by section.
import { CONFIG_SECTIONS, isSecretText, RELOADABLE, SECRET_FILE_SUFFIX } from '../schema/config-keys.ts';
import type { ConfigKey } from '../schema/config-walk.ts';
import { defaultWords, keysOf } from './man-svc.ts';

const HEAD = `# Configuration

<!-- Generated from src/schema/config.ts by \`npm run generate\`; do not edit. -->

Values come from these sources; the first one that sets a key wins:

1. a flag of the command,
2. the variable of the key, such as \`SVC_SERVER_PORT\` for \`server.port\`,
3. the file in \`--config\` or \`SVC_CONFIG\`; without either, \`./svc.yaml\` and then \`~/.svc/config.yaml\`,
4. the default.

Lists and maps are not merged; but each entry of \`auth.worker_tokens\` is a key of its own. \`svc config init\` writes a file with
every key explained, \`svc config show\` prints the values in force with their sources, and \`svc config explain KEY\` explains one.

- The variable of a key is \`SVC_\` and its path in capitals, joined by \`_\`. Lists are separated by commas; maps are JSON.
- Durations are whole numbers with the units \`h\`, \`m\` and \`s\`: \`90s\`, \`30m\`, \`1h30m\`.
- A secret \`x\` can be in a file of its own, named by \`x${SECRET_FILE_SUFFIX}\`. Other users must not be able to read that file, and only
  one of the two keys may be set. A relative path starts at the folder of the configuration file.
- Unknown keys, repeated keys, wrong types and unknown \`SVC_\` variables are errors. All are reported together, with file, line
  and column.
- \`SVC_CONFIG\`, \`SVC_SERVER\`, \`SVC_API_KEY\`, \`SVC_API_KEY_FILE\`, \`SVC_USER\` and \`SVC_RETRY\`
  belong to the command line and are not keys.
- On \`SIGHUP\` a running server reloads its configuration. These keys and sections apply at once, all others after a restart:
  ${RELOADABLE.map((name) => `\`${name}\``).join(', ')}.
`;

/** The complete document. */
export function configReference(): string {
  const sections = CONFIG_SECTIONS.map(({ path, description }) => {
    const rows = keysOf(path).map(row);
    return `\n## ${path}\n\n${description}\n\n| Key | Must be | Default | Meaning |\n|---|---|---|---|\n${rows.join('')}`;
  });
  return HEAD + sections.join('');
}

function row(key: ConfigKey): string {
  const names = isSecretText(key)
    ? `\`${key.path}\`, \`${key.path}${SECRET_FILE_SUFFIX}\``
    : `\`${key.path}\``;
  const fallback = key.default === undefined ? defaultWords(key) : `\`${defaultWords(key)}\``;
  return `| ${[names, key.takes, fallback, key.description].map(cell).join(' | ')} |\n`;
}

const cell = (text: string) => text.replaceAll('|', '\\|');
