// The only process on a store: it has every role, and nobody to wake.
import { type ReplicaStore, ROLES, type RoleStore } from './seam/replicas.ts';
import type { SignalStore } from './seam/signals.ts';

export const singleReplica: ReplicaStore = {
  isShared: false,
  beat: async (self) => ({
    replicas: [{ ...self, beats: 1 }],
    roles: ROLES.map((name) => ({ name, holder: self.id, beats: 1 })),
  }),
  remove: async () => {},
};

export const noSignals: SignalStore = { send: () => {}, on: () => () => {} };

export const allRoles: RoleStore = { take: async () => true, release: async () => {} };
