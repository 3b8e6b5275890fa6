// The parts of oclif's command manifest that documents are made from. The manifest is data of another program: fields
// that we do not use are not listed.

export interface ManifestFlag {
  name: string;
  type: 'boolean' | 'option';
  char?: string;
  description?: string;
  helpValue?: string | string[];
  options?: readonly string[];
  default?: unknown;
  env?: string;
  multiple?: boolean;
  required?: boolean;
  hidden?: boolean;
}

export interface ManifestArg {
  name: string;
  description?: string;
  required?: boolean;
}

export interface ManifestCommand {
  /** Topics and name joined by colons. */
  id: string;
  summary?: string;
  description?: string;
  usage?: string | string[];
  examples?: (string | { description?: string; command: string })[];
  flags?: Record<string, ManifestFlag>;
  args?: Record<string, ManifestArg>;
  hidden?: boolean;
}

export interface Manifest {
  version: string;
  commands: Record<string, ManifestCommand>;
}

export const PROGRAM = 'svc';

/** `sandbox create`, as it is typed. */
export function typedName({ id }: ManifestCommand): string {
  return id.replaceAll(':', ' ');
}

/** Commands that are documented, by name. */
export function documentedCommands(manifest: Manifest): ManifestCommand[] {
  return Object.values(manifest.commands)
    .filter(({ hidden }) => hidden !== true)
    .sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** Flags that are documented, by name. */
export function documentedFlags({ flags = {} }: ManifestCommand): ManifestFlag[] {
  return Object.values(flags)
    .filter(({ hidden }) => hidden !== true)
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Fills in oclif's placeholders. */
export function filledIn(text: string, command: ManifestCommand): string {
  return text.replaceAll('<%= config.bin %>', PROGRAM).replaceAll('<%= command.id %>', typedName(command));
}
