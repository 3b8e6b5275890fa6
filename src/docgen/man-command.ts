// The manual page of one command: svc-<topic>-<command>(1).
import { EXIT_CODES } from './exit-codes.ts';
import {
  documentedFlags,
  filledIn,
  type ManifestArg,
  type ManifestCommand,
  type ManifestFlag,
  PROGRAM,
  typedName,
} from './manifest.ts';
import { display, page, pageHead, paragraph, roffArgument, roffText, section, taggedList } from './roff.ts';

/** `svc-sandbox-create`. */
export function pageName(command: ManifestCommand): string {
  return `${PROGRAM}-${command.id.replaceAll(':', '-')}`;
}

/** A summary as NAME wants it: no full stop. */
export function purposeOf({ summary = '', description = '' }: ManifestCommand): string {
  const text = summary || description.split('\n')[0] || '';
  return text.replace(/\.$/, '').replace(/^[A-Z](?![A-Z])/, (first) => first.toLowerCase());
}

export function commandPage(command: ManifestCommand, version: string): string {
  const flags = documentedFlags(command);
  const args = Object.values(command.args ?? {});
  const head = pageHead({ title: pageName(command), section: 1, version, purpose: purposeOf(command) });
  return page(
    head,
    section('SYNOPSIS', synopsis(command, flags, args)),
    section('DESCRIPTION', description(command, args, flags)),
    section('ENVIRONMENT', environment(flags)),
    section('EXIT STATUS', exitStatus(command)),
    section('EXAMPLES', examples(command)),
    section('SEE ALSO', [`.Xr ${PROGRAM} 1 ,`, `.Xr ${PROGRAM}.yaml 5`]),
  );
}

function synopsis(
  command: ManifestCommand,
  flags: readonly ManifestFlag[],
  args: readonly ManifestArg[],
): string[] {
  const usage = [command.usage ?? []].flat();
  if (usage.length > 0)
    return usage.map((line) => `.Li ${roffArgument(`${PROGRAM} ${filledIn(line, command)}`)}`);
  return [
    `.Nm ${PROGRAM} ${typedName(command)}`,
    ...args.map(({ name, required }) =>
      required ? `.Ar ${name.toUpperCase()}` : `.Op Ar ${name.toUpperCase()}`,
    ),
    ...flags.map((flag) => (flag.required ? `.${flagMacro(flag)}` : `.Op ${flagMacro(flag)}`)),
  ];
}

function flagMacro(flag: ManifestFlag): string {
  const value = flag.type === 'option' ? ` Ar ${roffArgument(valueName(flag))}` : '';
  return `Fl -${flag.name}${value}`;
}

function valueName({ helpValue, name }: ManifestFlag): string {
  const [first] = [helpValue ?? name].flat();
  return (first ?? name).replace(/[<>]/g, '');
}

function description(
  command: ManifestCommand,
  args: readonly ManifestArg[],
  flags: readonly ManifestFlag[],
): string[] {
  const words = filledIn([command.summary, command.description].filter(Boolean).join(' '), command);
  const entries = [
    ...args.map((arg) => [`Ar ${arg.name.toUpperCase()}`, paragraph(arg.description ?? '')] as const),
    ...flags.map((flag) => [flagTag(flag), flagText(flag)] as const),
  ];
  return [...paragraph(words), ...(entries.length > 0 ? taggedList(entries) : [])];
}

function flagTag(flag: ManifestFlag): string {
  return flag.char === undefined ? flagMacro(flag) : `Fl ${flag.char} , ${flagMacro(flag)}`;
}

function flagText({ description: words = '', options, default: fallback, env }: ManifestFlag): string[] {
  const isShown = typeof fallback === 'string' || typeof fallback === 'number';
  return [
    ...paragraph(words),
    ...(options ? [roffText(`One of ${options.join(', ')}.`)] : []),
    ...(isShown ? [roffText(`Default: ${fallback}.`)] : []),
    ...(env === undefined ? [] : [`Variable:`, `.Ev ${env} .`]),
  ];
}

function environment(flags: readonly ManifestFlag[]): string[] {
  const entries = flags.flatMap(({ env, name }) => {
    return env === undefined ? [] : [[`Ev ${env}`, ['Used when', `.Fl -${name}`, 'is not given.']] as const];
  });
  return entries.length === 0 ? [] : taggedList(entries);
}

function exitStatus({ description: words = '' }: ManifestCommand): string[] {
  const own = words.includes("command's own status");
  const rest = EXIT_CODES.filter(([code]) => !own || code === 130);
  const list = taggedList(rest.map(([code, meaning]) => [String(code), [roffText(meaning)]]));
  return own ? ['The status of the command in the sandbox, otherwise as in DESCRIPTION.', ...list] : list;
}

function examples(command: ManifestCommand): string[] {
  const entries = (command.examples ?? []).map((example) =>
    typeof example === 'string' ? example : example.command,
  );
  return entries.length === 0 ? [] : display(entries.map((example) => filledIn(example, command)));
}
