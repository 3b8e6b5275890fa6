// Credentials of the fake control plane: the real ones over the memory store.
import type { Caller } from '../../../src/control/api/caller.ts';
import type { ControlPlane } from '../../../src/control/api/control-plane.ts';
import { Credentials, type CredentialsDeps } from '../../../src/control/runtime/credentials.ts';
import { credentialViews } from '../../../src/control/system/credentials.ts';
import type { Clock } from '../../../src/domain/ports.ts';
import { sealWith } from '../../../src/domain/seal.ts';
import { realRandom } from '../../../src/host/random.ts';
import { noSignals } from '../../../src/store/single-replica.ts';
import { memorySecrets } from '../memory-store/secrets.ts';
import { silentLogger } from './ports.ts';

const NONE: CredentialsDeps['config'] = {
  current: () => ({ egress: { credential_terms: {} } }),
  onChange: () => undefined,
};

type Note = (method: string, caller: Caller | undefined, ...args: unknown[]) => void;

export function memoryCredentials(clock: Clock, config = NONE): Credentials {
  const seal = sealWith('a key of a test, of 32 characters', realRandom());
  return new Credentials({
    ...{ secrets: memorySecrets(), signals: noSignals, seal: async () => seal },
    ...{ config, conceal: () => () => undefined, clock, logger: silentLogger },
  });
}

export function fakeCredentials(note: Note, clock: Clock): Pick<ControlPlane, 'credentials'> {
  const views = credentialViews(memoryCredentials(clock));
  return {
    credentials: {
      list: async () => {
        note('credentials.list', undefined);
        return views.list();
      },
      get: async (name) => {
        note('credentials.get', undefined, name);
        return views.get(name);
      },
      put: async (name, request) => {
        note('credentials.put', undefined, name, request);
        return views.put(name, request);
      },
      remove: async (name) => {
        note('credentials.remove', undefined, name);
        return views.remove(name);
      },
    },
  };
}
