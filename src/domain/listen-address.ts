// An address on which a process listens, written as one text.
import { isIP } from 'node:net';
import { ServiceError } from './errors.ts';

export interface ListenAddress {
  /** Has no brackets; empty means every address. */
  host: string;
  port: number;
}

/** Parses `host:port`, `[::1]:port` or `:port`. Throws `bad_request`. */
export function parseListen(text: string): ListenAddress {
  const [, bracketed, plain = '', digits = ''] = /^(?:\[([^\]]+)\]|([^:\s/]*)):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits === '' || port > 65_535 || (bracketed !== undefined && isIP(bracketed) !== 6))
    throw new ServiceError('bad_request', `${JSON.stringify(text.slice(0, 128))} is not a listen address.`, {
      remedy: 'Write it as host:port, for example 10.0.0.5:7424.',
    });
  return { host: bracketed ?? plain, port };
}
