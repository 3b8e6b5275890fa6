// Flags and arguments of egress policies.
import { Flags } from '@oclif/core';
import { ServiceError } from '../domain/errors.ts';
import type { EgressCheckRequest, EgressPolicy } from '../schema/egress.ts';

/** The name in a spawn; `--default` would be unclear there. */
export const egressFlags = {
  allow: Flags.string({
    description:
      'Target that may be reached: a name, *.name, an address, a CIDR block or @group; repeatable.',
    multiple: true,
  }),
  deny: Flags.string({
    description: 'Target that may not be reached; wins over --allow; repeatable.',
    multiple: true,
  }),
};

export const policyFlags = {
  ...egressFlags,
  default: Flags.option({
    description: 'What holds for public targets that no rule names.',
    options: ['deny', 'allow'] as const,
  })(),
};

export interface EgressFlags {
  allow?: string[] | undefined;
  deny?: string[] | undefined;
  default?: 'deny' | 'allow' | undefined;
}

/** Undefined without any of the flags. */
export function egressPolicy({ allow, deny, default: otherwise }: EgressFlags): EgressPolicy | undefined {
  if (allow === undefined && deny === undefined && otherwise === undefined) return undefined;
  return {
    ...(otherwise !== undefined && { default: otherwise }),
    ...(allow !== undefined && { allow }),
    ...(deny !== undefined && { deny }),
  };
}

const HTTPS = 443;

/** Reads `HOST`, `HOST:PORT`, `[IPV6]:PORT` or `IPV6`. Throws `bad_request` for an invalid port. */
export function hostAndPort(text: string): { host: string; port: number } {
  const [, bracketed, bare, port] = /^(?:\[([^\]]+)\]|([^:]*))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = bracketed ?? bare;
  if (host === undefined && text.split(':').length > 2) return { host: text, port: HTTPS };
  const number = port === undefined ? HTTPS : Number(port);
  if (!host || number < 1 || number > 65_535)
    throw new ServiceError('bad_request', 'The target is not HOST or HOST:PORT.', {
      remedy: 'For example api.example.com:443.',
    });
  return { host, port: number };
}

/** `SANDBOX TARGET`, or a target alone with the policy of the flags. Throws `bad_request` for an invalid target, and for both. */
export function checkRequest(
  first: string,
  second: string | undefined,
  flags: EgressFlags,
): EgressCheckRequest {
  const egress = egressPolicy(flags);
  if (second === undefined) return { egress: egress ?? {}, ...hostAndPort(first) };
  if (egress)
    throw new ServiceError(
      'bad_request',
      'A sandbox has its own policy: --allow, --deny and --default do not apply.',
      {
        remedy: 'Leave the flags or the sandbox out.',
      },
    );
  return { sandbox_id: first, ...hostAndPort(second) };
}
