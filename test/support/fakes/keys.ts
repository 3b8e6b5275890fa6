// Named keys of the fake control plane: the real ones over the memory store. Time passes only when a test says so.
import type { Caller } from '../../../src/control/api/caller.ts';
import type { ControlPlane } from '../../../src/control/api/control-plane.ts';
import { Codes } from '../../../src/control/keys/codes.ts';
import { KeyRing } from '../../../src/control/keys/key-ring.ts';
import { keyViews } from '../../../src/control/keys/keys.ts';
import { sessionViews } from '../../../src/control/keys/sessions.ts';
import type { Clock } from '../../../src/domain/ports.ts';
import { realRandom } from '../../../src/host/random.ts';
import { fixedConfig, testConfig } from '../config.ts';
import { memoryKeys } from '../memory-store/keys.ts';
import { memorySessions } from '../memory-store/sessions.ts';
import { fakeIds, silentLogger } from './ports.ts';

type Note = (method: string, caller: Caller | undefined, ...args: unknown[]) => void;

export function fakeKeys(note: Note, clock: Clock): Pick<ControlPlane, 'keys' | 'namedKeys' | 'sessions'> {
  const keys = memoryKeys();
  const sessions = memorySessions(keys.changed);
  const ring = new KeyRing({
    keys,
    sessions,
    replicas: { areSeveral: false },
    clock,
    logger: silentLogger,
  });
  const views = keyViews({ keys, ring, ids: fakeIds(), random: realRandom(), clock });
  const shared = { sessions, ring, clock, ids: fakeIds(), random: realRandom() };
  const logins = sessionViews({
    ...shared,
    codes: new Codes({ ...shared, key: '00' }),
    config: fixedConfig(testConfig({ auth: { enabled: true } })),
  });
  return {
    namedKeys: ring,
    sessions: {
      ...logins,
      open: async (request, caller) => {
        note('sessions.open', caller, request);
        return logins.open(request, caller);
      },
      code: async (request, caller) => {
        note('sessions.code', caller, request);
        return logins.code(request, caller);
      },
      exchange: async (code) => {
        note('sessions.exchange', undefined);
        return logins.exchange(code);
      },
      current: (caller) => {
        note('sessions.current', caller);
        return logins.current(caller);
      },
      renew: async (caller) => {
        note('sessions.renew', caller);
        return logins.renew(caller);
      },
      end: async (caller) => {
        note('sessions.end', caller);
        return logins.end(caller);
      },
      list: () => {
        note('sessions.list', undefined);
        return logins.list();
      },
      revoke: async (id) => {
        note('sessions.revoke', undefined, id);
        return logins.revoke(id);
      },
    },
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
