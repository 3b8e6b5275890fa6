// Flags that describe a sandbox to spawn, shared by `sandbox create` and `sandbox run`.
import { Flags } from '@oclif/core';
import { ServiceError } from '../domain/errors.ts';
import type { SpawnRequest } from '../schema/sandbox.ts';

export const spawnFlags = {
  image: Flags.string({ description: 'Runtime image; the server default when omitted.' }),
  provider: Flags.string({ description: 'Provider kind; the server default when omitted.' }),
  memory: Flags.integer({ description: 'Memory limit in megabytes.', min: 16 }),
  vcpus: Flags.integer({ description: 'Virtual processors.', min: 1 }),
  ttl: Flags.string({ description: 'Life of the sandbox, for example 90s, 30m or 1h30m.' }),
  metadata: Flags.string({ description: 'Label, KEY=VALUE; repeat for more.', multiple: true }),
  env: Flags.string({
    description: 'Environment variable of every exec, NAME=VALUE; repeat for more.',
    char: 'e',
    multiple: true,
  }),
  network: Flags.string({
    description: 'none disconnects the sandbox from all networks.',
    options: ['default', 'none'],
  }),
};

/** Of the commands that spawn. */
export const templateFlag = Flags.string({
  description: 'Template that says what no flag says; not with --image.',
});

/** Of the commands that spawn. */
export const strictFlag = Flags.boolean({
  description: 'Refuse it where what runs would differ from what was asked; else that is a warning.',
});

export interface SpawnFlags {
  strict?: boolean | undefined;
  template?: string | undefined;
  image?: string | undefined;
  provider?: string | undefined;
  memory?: number | undefined;
  vcpus?: number | undefined;
  ttl?: string | undefined;
  metadata?: string[] | undefined;
  env?: string[] | undefined;
  network?: string | undefined;
}

/** The spawn request that the flags say; what was not said is left to the server. */
export function spawnRequest(flags: SpawnFlags): SpawnRequest {
  const said = {
    template: flags.template,
    image: flags.image,
    provider: flags.provider,
    memory_mb: flags.memory,
    vcpus: flags.vcpus,
    ttl: flags.ttl,
    metadata: flags.metadata && pairs(flags.metadata, '--metadata'),
    env: flags.env && pairs(flags.env, '--env'),
    network: flags.network,
    strict: flags.strict || undefined,
  };
  return Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined));
}

/** `['A=1', 'B=x=y']` as an object. Throws `bad_request` for an entry without `=` or without a name. */
export function pairs(entries: readonly string[], flag: string): Record<string, string> {
  return Object.fromEntries(
    entries.map((entry) => {
      const split = entry.indexOf('=');
      if (split < 1)
        throw new ServiceError('bad_request', `${flag} takes NAME=VALUE.`, {
          details: { given: entry.slice(0, 64) },
        });
      return [entry.slice(0, split), entry.slice(split + 1)];
    }),
  );
}
