// Flags of `template create` and `template update`: a file, flags, or flags that override a file.
import { readFileSync, statSync } from 'node:fs';
import { Flags } from '@oclif/core';
import { readPlain } from '../config/plain-yaml.ts';
import { ServiceError } from '../domain/errors.ts';
import type { Template, TemplateUpdate } from '../schema/template.ts';
import { localReason } from './local-failure.ts';
import { type SpawnFlags, spawnFlags, spawnRequest } from './spawn-flags.ts';

const MAX_FILE_BYTES = 1024 * 1024;

export const templateFlags = {
  file: Flags.string({
    description: 'YAML or JSON file with the fields of the template; - is standard input. Flags override it.',
    char: 'f',
    helpValue: '<file>',
  }),
  description: Flags.string({ description: 'Description for people.' }),
  ...spawnFlags,
  setup: Flags.string({
    description: 'Set-up command to run in each new sandbox; repeatable, runs in order.',
    multiple: true,
  }),
  prewarm: Flags.integer({ description: 'Number of sandboxes to prewarm.', min: 0 }),
};

interface TemplateFlags extends SpawnFlags {
  file?: string | undefined;
  description?: string | undefined;
  setup?: string[] | undefined;
  prewarm?: number | undefined;
}

/** The fields in the file. Throws `bad_request` for a file that is unreadable or not a map. */
export function templateFile(file: string): Record<string, unknown> {
  const facts = readPlain(textOf(file), file === '-' ? 'standard input' : file);
  if (typeof facts === 'object' && facts !== null && !Array.isArray(facts)) return facts as never;
  throw new ServiceError('bad_request', 'The template file is not a map of fields.', { details: { file } });
}

/** The fields in the flags. */
export function templateFlagFacts(flags: TemplateFlags): Partial<TemplateUpdate> {
  const { description, setup, prewarm } = flags;
  return {
    ...spawnRequest(flags),
    ...(description !== undefined && { description }),
    ...(setup !== undefined && { setup }),
    ...(prewarm !== undefined && { prewarm }),
  };
}

/** Throws `bad_request`, which names the flag, for fields without an image. */
export function requireImage(fields: { image?: unknown }): void {
  if (fields.image !== undefined) return;
  throw new ServiceError('bad_request', 'The template has no image: --image is missing.', {
    remedy: 'Set --image, or image in the file.',
  });
}

/** The fields of a template that an update can send. */
export function factsOf(template: Template): TemplateUpdate {
  const { name, owner_id, version, created_at, updated_at, ...facts } = template;
  return facts;
}

function textOf(file: string): string {
  try {
    if (file !== '-' && statSync(file).size > MAX_FILE_BYTES)
      throw new ServiceError('payload_too_large', 'The template file is over 1 MiB.', { details: { file } });
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause;
    throw new ServiceError('bad_request', `The template file cannot be read: ${localReason(cause)}.`, {
      cause,
      details: { file },
    });
  }
}
