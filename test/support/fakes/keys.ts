// Named keys of the fake control plane: the real ones over the memory store. Time passes only when a test says so.
import type { Caller } from '../../../src/control/api/caller.ts';
import type { ControlPlane } from '../../../src/control/api/control-plane.ts';
import { KeyRing } from '../../../src/control/keys/key-ring.ts';
import { keyViews } from '../../../src/control/keys/keys.ts';
import type { Clock } from '../../../src/domain/ports.ts';
import { realRandom } from '../../../src/host/random.ts';
import { memoryKeys } from '../memory-store/keys.ts';
import { fakeIds, silentLogger } from './ports.ts';

type Note = (method: string, caller: Caller | undefined, ...args: unknown[]) => void;

export function fakeKeys(note: Note, clock: Clock): Pick<ControlPlane, 'keys' | 'namedKeys'> {
  const keys = memoryKeys();
  const ring = new KeyRing({ keys, clock, logger: silentLogger });
  const views = keyViews({ keys, ring, ids: fakeIds(), random: realRandom(), clock });
  return {
    namedKeys: ring,
    keys: {
      create: async (request, caller) => {
        note('keys.create', caller, request);
        return views.create(request, caller);
      },
      list: async (query) => {
        note('keys.list', undefined, query);
        return views.list(query);
      },
      get: async (key) => {
        note('keys.get', undefined, key);
        return views.get(key);
      },
      rotate: async (key, request) => {
        note('keys.rotate', undefined, key, request);
        return views.rotate(key, request);
      },
      revoke: async (key, caller) => {
        note('keys.revoke', caller, key);
        return views.revoke(key, caller);
      },
    },
  };
}
