// docs/configuration.md: every key in tables, by section.
import { CONFIG_SECTIONS, isSecretText, RELOADABLE, SECRET_FILE_SUFFIX } from '../schema/config-keys.ts';
import type { ConfigKey } from '../schema/config-walk.ts';
import { defaultWords, keysOf } from './man-svc.ts';

const HEAD = `# Configuration

<!-- Generated from src/schema/config.ts by \`npm run generate\`; do not edit. -->

The file that \`--config\`, else \`SVC_CONFIG\` names is read alone. Where none is named, \`./svc.yaml\` is read and, for the
keys that it does not set, \`~/.svc/config.yaml\`; lists and maps count as a whole, but each entry of \`auth.worker_tokens\`
is a key of its own. The variable of a key goes before the files, a flag before both. \`svc config init\` writes a file
with every key explained, \`svc config show\` tells what counts and why, \`svc config explain KEY\` names the source of one.

- The variable of a key is its path in capitals, joined by \`_\`, after \`SVC_\`: \`server.port\` is \`SVC_SERVER_PORT\`. Lists
  are separated by commas, maps are JSON.
- Durations are whole numbers with the units \`h\`, \`m\` and \`s\`: \`90s\`, \`30m\`, \`1h30m\`.
- A secret \`x\` may lie in a file of its own, named by \`x${SECRET_FILE_SUFFIX}\`; others may not read that file, and only one of the two
  may be set. A relative path counts from the configuration file that names it.
- Unknown keys, keys that appear twice, wrong types and unknown \`SVC_\` variables are errors. All are told at once, with
  file, line and column.
- \`SVC_CONFIG\`, \`SVC_SERVER\`, \`SVC_API_KEY\`, \`SVC_API_KEY_FILE\`, \`SVC_USER\` and \`SVC_RETRY\`
  belong to the command line and are no keys.
- A running server reads its configuration again on \`SIGHUP\`. These keys and sections then hold at once, all others after
  a restart: ${RELOADABLE.map((name) => `\`${name}\``).join(', ')}.
`;

/** The whole document. */
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
