// svc(1), the page that names all commands, and svc.yaml(5), the configuration file.
import { CONFIG_KEYS, CONFIG_SECTIONS, isSecretText, SECRET_FILE_SUFFIX } from '../schema/config-keys.ts';
import type { ConfigKey } from '../schema/config-walk.ts';
import { EXIT_CODES } from './exit-codes.ts';
import { pageName } from './man-command.ts';
import { documentedCommands, type Manifest, PROGRAM, typedName } from './manifest.ts';
import { page, pageHead, paragraph, roffText, section, taggedList } from './roff.ts';

const ABOUT =
  'svc runs short-lived isolated computers, called sandboxes, and answers over HTTP and on the command line. svc serve starts the server; most other commands talk to it.';
const JSON_NOTE =
  'Every command takes --json: its result, or its error, goes to standard output as one JSON document. Talk goes to standard error. --help tells about each command.';

const FILES = [
  ['./svc.yaml', 'The configuration, when --config and SVC_CONFIG name none.'],
  ['~/.svc/config.yaml', 'The configuration that svc.yaml of the working folder does not set.'],
  ['/var/lib/svc', 'State of a server that root runs.'],
  ['~/.svc', 'State of a server that another user runs.'],
] as const;

const VARIABLES = [
  ['SVC_CONFIG', 'The configuration file.'],
  ['SVC_SERVER', 'Address of the server that client commands talk to.'],
  ['SVC_API_KEY', 'API key of client commands.'],
  ['SVC_API_KEY_FILE', 'File that holds the API key.'],
  ['SVC_RETRY', 'false: a call refused for the moment is not sent again (--no-retry).'],
  ['SVC_USER', 'Owner that client commands act for.'],
  ['NO_COLOR', 'No colours, when set to anything but nothing.'],
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
  'The file that --config, else SVC_CONFIG names is read alone. Where none is named, ./svc.yaml is read and, for the keys that it does not set, ~/.svc/config.yaml. The variable of a key goes before the files, and a flag before both.',
  'Unknown keys, keys that appear twice, wrong types and unknown SVC_ variables are errors, all told at once with file, line and column.',
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
