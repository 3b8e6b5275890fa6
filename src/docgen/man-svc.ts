// svc(1), the page that names all commands, and svc.yaml(5), the configuration file.
import { CONFIG_KEYS, CONFIG_SECTIONS, isSecretText, SECRET_FILE_SUFFIX } from '../schema/config-keys.ts';
import type { ConfigKey } from '../schema/config-walk.ts';
import { EXIT_CODES } from './exit-codes.ts';
import { pageName } from './man-command.ts';
import { documentedCommands, type Manifest, PROGRAM, typedName } from './manifest.ts';
import { page, pageHead, paragraph, roffText, section, taggedList } from './roff.ts';

const ABOUT =
  'svc runs sandboxes: short-lived, isolated Linux computers. svc serve starts the server with its HTTP API; most other commands call that server.';
const JSON_NOTE =
  'With --json a command prints its result or its error to standard output as one JSON document. Progress goes to standard error. --help explains each command.';

const FILES = [
  ['./svc.yaml', 'The configuration, without --config and SVC_CONFIG.'],
  ['~/.svc/config.yaml', 'Values for keys that ./svc.yaml does not set.'],
  ['/var/lib/svc', 'State of a server that runs as root.'],
  ['~/.svc', 'State of a server that runs as another user.'],
] as const;

const VARIABLES = [
  ['SVC_CONFIG', 'The configuration file.'],
  ['SVC_SERVER', 'Address of the server that client commands call.'],
  ['SVC_API_KEY', 'API key of client commands.'],
  ['SVC_API_KEY_FILE', 'File that holds the API key.'],
  ['SVC_RETRY', 'false disables retries of refused calls (--no-retry).'],
  ['SVC_USER', 'Owner that client commands act for.'],
  ['NO_COLOR', 'Disables colours when it is not empty.'],
] as const;

export function programPage(manifest: Manifest): string {
  const commands = documentedCommands(manifest);
  const head = pageHead({
    title: PROGRAM,
    section: 1,
    version: manifest.version,
    purpose: 'self-hosted sandboxes',
  });
  return page(
    head,
    section('SYNOPSIS', [`.Nm ${PROGRAM}`, '.Ar command', '.Op Ar argument ...']),
    section('DESCRIPTION', [
      ...paragraph(ABOUT),
      '.Pp',
      ...paragraph(JSON_NOTE),
      '.Pp',
      'The commands are:',
      ...taggedList(
        commands.map((command) => [`Ic ${typedName(command)}`, paragraph(command.summary ?? '')]),
      ),
    ]),
    section('ENVIRONMENT', taggedList(VARIABLES.map(([name, words]) => [`Ev ${name}`, [roffText(words)]]))),
    section('FILES', taggedList(FILES.map(([path, words]) => [`Pa ${path}`, [roffText(words)]]))),
    section('EXIT STATUS', taggedList(EXIT_CODES.map(([code, words]) => [String(code), [roffText(words)]]))),
    section(
      'SEE ALSO',
      seeAlso([...commands.map((command) => [pageName(command), 1] as const), [`${PROGRAM}.yaml`, 5]]),
    ),
  );
}

function seeAlso(pages: readonly (readonly [name: string, section: number])[]): string[] {
  return pages.map(([name, number], at) => `.Xr ${name} ${number}${at === pages.length - 1 ? '' : ' ,'}`);
}

const ORDER = [
  '--config or SVC_CONFIG names the only file to read. Without either, ./svc.yaml is read and, for keys that it does not set, ~/.svc/config.yaml. The variable of a key overrides the files, and a flag overrides both.',
  'Unknown keys, repeated keys, wrong types and unknown SVC_ variables are errors. All are reported together with file, line and column.',
  'In variables, lists are separated by commas and maps are JSON. Durations are whole numbers with the units h, m and s, such as 1h30m.',
];

export function configPage(version: string): string {
  const head = pageHead({ title: `${PROGRAM}.yaml`, section: 5, version, purpose: 'configuration of svc' });
  return page(
    head,
    section(
      'DESCRIPTION',
      ORDER.flatMap((words, at) => [...(at === 0 ? [] : ['.Pp']), ...paragraph(words)]),
    ),
    ['.Sh KEYS'],
    ...CONFIG_SECTIONS.map(({ path, description }) => [
      `.Ss ${path}`,
      ...paragraph(description),
      ...taggedList(keysOf(path).map((key) => [`Cm ${key.path}`, keyText(key)])),
    ]),
    section(
      'SEE ALSO',
      seeAlso([
        [PROGRAM, 1],
        [`${PROGRAM}-config-explain`, 1],
        [`${PROGRAM}-config-init`, 1],
      ]),
    ),
  );
}

/** Keys that stand directly in a section. */
export function keysOf(section: string): ConfigKey[] {
  return CONFIG_KEYS.filter(({ path }) => path.slice(0, path.lastIndexOf('.')) === section);
}

/** The default in words, for every document. */
export function defaultWords(key: ConfigKey): string {
  if (key.default === undefined) return key.defaultText ?? 'none';
  return typeof key.default === 'string' && key.default !== '' ? key.default : JSON.stringify(key.default);
}

function keyText(key: ConfigKey): string[] {
  return [
    ...paragraph(key.description),
    ...paragraph(`Must be ${key.takes}.`),
    // A list may be broken at its commas.
    ...paragraph(`Default: ${defaultWords(key).replaceAll('","', '", "')}.`),
    ...(isSecretText(key)
      ? paragraph(`${key.path}${SECRET_FILE_SUFFIX} names a file that holds it and that others may not read.`)
      : []),
    'Variable:',
    `.Ev ${key.env} .`,
  ];
}
