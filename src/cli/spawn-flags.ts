// Flags that describe a sandbox to spawn.
import { Flags } from '@oclif/core';
import { ServiceError } from '../domain/errors.ts';
import { PULL_POLICIES, type PullPolicy } from '../schema/image-policy.ts';
import type { SpawnRequest } from '../schema/sandbox.ts';
import { type EgressFlags, egressFlags, egressPolicy } from './egress-flags.ts';

export const spawnFlags = {
  image: Flags.string({ description: 'Runtime image; defaults to the image of the server.' }),
  provider: Flags.string({ description: 'Provider; defaults to the provider of the server.' }),
  memory: Flags.integer({ description: 'Memory limit in megabytes.', min: 16 }),
  vcpus: Flags.integer({ description: 'Virtual processors.', min: 1 }),
  ttl: Flags.string({ description: 'Time to live, for example 90s, 30m or 1h30m.' }),
  metadata: Flags.string({ description: 'Label, KEY=VALUE; repeatable.', multiple: true }),
  env: Flags.string({
    description: 'Environment variable of every exec, NAME=VALUE; repeatable.',
    char: 'e',
    multiple: true,
  }),
  network: Flags.string({
    description: 'none disconnects the sandbox from all networks.',
    options: ['default', 'none'],
  }),
  ...egressFlags,
  worker: Flags.string({ description: 'Run it on this worker only; local is the server itself.' }),
  label: Flags.string({
    description: 'Run it on a worker with this label only, KEY=VALUE; repeatable.',
    multiple: true,
  }),
};

export const templateFlag = Flags.string({
  description: 'Template with defaults for all other flags; not with --image.',
});

export const strictFlag = Flags.boolean({
  description: 'Fail if the sandbox would differ from the request; otherwise that is a warning.',
});

export const pullFlag = Flags.option({
  description: 'Whether to pull the image; at most what the server allows.',
  options: PULL_POLICIES,
})();

export interface SpawnFlags extends EgressFlags {
  pull?: PullPolicy | undefined;
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
  worker?: string | undefined;
  label?: string[] | undefined;
}

/** The spawn request of the flags; the server fills in the rest. */
export function spawnRequest(flags: SpawnFlags): SpawnRequest {
  const fields = {
    template: flags.template,
    image: flags.image,
    pull: flags.pull,
    provider: flags.provider,
    memory_mb: flags.memory,
    vcpus: flags.vcpus,
    ttl: flags.ttl,
    metadata: flags.metadata && pairs(flags.metadata, '--metadata'),
    env: flags.env && pairs(flags.env, '--env'),
    network: flags.network,
    egress: egressPolicy(flags),
    worker_id: flags.worker,
    worker_labels: flags.label && pairs(flags.label, '--label'),
    strict: flags.strict || undefined,
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** `['A=1', 'B=x=y']` as an object. Throws `bad_request` for an entry without `=` or without a name. */
export function pairs(entries: readonly string[], flag: string): Record<string, string> {
  return Object.fromEntries(
    entries.map((entry) => {
      const split = entry.indexOf('=');
      if (split < 1)
        throw new ServiceError('bad_request', `${flag} is not of the form NAME=VALUE.`, {
          details: { given: entry.slice(0, 64) },
        });
      return [entry.slice(0, split), entry.slice(split + 1)];
    }),
  );
}
