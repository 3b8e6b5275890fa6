// The certificate of the listener of E2B, as files of the operator or of an authority of our own. It is looked at each hour, so
// that one that was renewed is used without a restart.
import { readFileSync } from 'node:fs';
import { ServiceError } from '../domain/errors.ts';
import type { LiveConfig } from '../domain/live-config.ts';
import type { Clock, Logger, Random } from '../domain/ports.ts';
import type { ListenerTls } from '../http/e2b/tls-listener.ts';
import type { Config } from '../schema/config.ts';
import { ownAuthority, usesOwnAuthority } from './e2b-authority.ts';

const LOOK_MS = 3_600_000;

export interface ListenerDeps {
  config: LiveConfig<Config>;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** Undefined without `e2b.listen`. Throws `bad_request` for files that cannot be read. */
export function listenerTls({ config, clock, random, logger }: ListenerDeps): ListenerTls | undefined {
  const current = config.current();
  const { e2b } = current;
  if (e2b.listen === '') return undefined;
  const own = usesOwnAuthority(current) ? ownAuthority(current, { clock, random }) : undefined;
  const read = () => own?.leaf() ?? { cert: fileOf(e2b.cert_file), key: fileOf(e2b.key_file) };
  return {
    ...read(),
    renew: (use) => {
      const look = () => {
        try {
          use(read());
        } catch (error) {
          logger.error(
            { err: error },
            'The certificate of e2b.listen cannot be read; the old one stays in use.',
          );
        }
        timer = clock.after(LOOK_MS, look);
      };
      let timer = clock.after(LOOK_MS, look);
      return () => timer.cancel();
    },
  };
}

function fileOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new ServiceError('bad_request', `The file ${path} of the certificate cannot be read.`, {
      cause,
      remedy: 'Check e2b.cert_file and e2b.key_file, and that the user of the server may read both.',
    });
  }
}
