// Processes and roles as maps: the reference for what the seam means.
import type { Clock } from '../../../src/domain/ports.ts';
import { type ReplicaRecord, ROLES, type RoleRecord } from '../../../src/store/seam/replicas.ts';
import type { SignalKind, SignalStore } from '../../../src/store/seam/signals.ts';
import type { TimeStore } from '../../../src/store/seam/time.ts';
import type { Store } from '../../../src/store/store.ts';
import { copy } from './tables.ts';

/** Wakes whoever listens at once; nothing is polled. */
function memorySignals(): SignalStore {
  const listeners = new Set<{ kind: SignalKind; call: (subject?: string) => void }>();
  return {
    send: (kind, subject) => {
      for (const one of listeners) if (one.kind === kind) one.call(subject);
    },
    on: (kind, call) => {
      const listener = { kind, call };
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** The database has the clock of the test. */
function memoryTime(
  clock: Pick<Clock, 'now'>,
  { holds, beats }: { holds(id: string): boolean; beats(): number },
): TimeStore {
  let stored = { offset_ms: 0, stored_ms: 0 };
  return {
    read: async () => ({ ...stored, database_ms: clock.now(), beats: beats() }),
    store: async ({ offset_ms, stored_ms }, holder) => {
      if (holds(holder)) stored = { offset_ms, stored_ms };
    },
  };
}

export function memoryReplicas(
  clock: Pick<Clock, 'now'>,
): Pick<Store, 'replicas' | 'roles' | 'signals'> & { time: TimeStore } {
  const processes = new Map<string, ReplicaRecord>();
  const roles = ROLES.map((name): RoleRecord => ({ name, beats: 0 }));
  const heldBy = (id: string) => roles.filter(({ holder }) => holder === id);
  return {
    time: memoryTime(clock, {
      holds: (id) => heldBy(id).some(({ name }) => name === 'upkeep'),
      beats: () => [...processes.values()].reduce((sum, one) => sum + one.beats, 0),
    }),
    signals: memorySignals(),
    replicas: {
      isShared: true,
      beat: async (self) => {
        const beats = (processes.get(self.id)?.beats ?? 0) + 1;
        processes.set(self.id, { ...processes.get(self.id), ...self, beats });
        for (const role of heldBy(self.id)) role.beats++;
        return copy({ replicas: [...processes.values()], roles });
      },
      remove: async (id) => void processes.delete(id),
    },
    roles: {
      take: async ({ name, holder, beats }, taker) => {
        const role = roles.find((one) => one.name === name && one.holder === holder && one.beats === beats);
        if (role) Object.assign(role, { holder: taker, beats: beats + 1 });
        return role !== undefined;
      },
      release: async (id) => {
        for (const role of heldBy(id)) {
          role.beats++;
          Reflect.deleteProperty(role, 'holder');
        }
      },
    },
  };
}
