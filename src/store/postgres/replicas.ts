// Processes and roles in PostgreSQL. One statement a second shows both, on a connection of its own: a pool that is busy must not
// look like a process that died.
import type {
  ReplicaRecord,
  ReplicaStore,
  RoleName,
  RoleRecord,
  RoleStore,
  SignsOfLife,
} from '../seam/replicas.ts';
import type { Statement } from './connection.ts';
import type { OwnConnection } from './own-connection.ts';

/** Rows that the statement wrote are those of RETURNING: its other reads see them as they were before. */
const BEAT: Statement = {
  name: 'replica-beat',
  text: `WITH own AS (
      INSERT INTO replicas AS known (id, url, version, config_print, started_at, beats) VALUES ($1, $2, $3, $4, $5, 1)
        ON CONFLICT (id) DO UPDATE SET url = excluded.url, config_print = excluded.config_print, beats = known.beats + 1
        RETURNING *),
    held AS (UPDATE roles SET beats = beats + 1 WHERE holder = $1 RETURNING *)
    SELECT NULL AS role, NULL AS holder, beats, id, url, version, config_print, started_at FROM own
    UNION ALL SELECT NULL, NULL, beats, id, url, version, config_print, started_at FROM replicas WHERE id <> $1
    UNION ALL SELECT name, holder, beats, NULL, NULL, NULL, NULL, NULL FROM held
    UNION ALL SELECT name, holder, beats, NULL, NULL, NULL, NULL, NULL FROM roles WHERE holder IS DISTINCT FROM $1`,
};
const REMOVE: Statement = { name: 'replica-remove', text: 'DELETE FROM replicas WHERE id = $1' };
const TAKE: Statement = {
  name: 'role-take',
  text: `UPDATE roles SET holder = $4, beats = beats + 1
    WHERE name = $1 AND holder IS NOT DISTINCT FROM $2 AND beats = $3 RETURNING name`,
};
const RELEASE: Statement = {
  name: 'role-release',
  text: 'UPDATE roles SET holder = NULL, beats = beats + 1 WHERE holder = $1',
};

type Row = ReplicaRecord & { role: RoleName | null; holder: string | null };

/** `upkept` is called each second in the process that has the role `upkeep`. */
export function replicaStore(own: OwnConnection, upkept: () => void): ReplicaStore {
  return {
    isShared: true,
    beat: async ({ id, url, version, config_print, started_at }) => {
      const values = [id, url, version, config_print, started_at];
      const signs: SignsOfLife = { replicas: [], roles: [] };
      for (const { role, holder, ...replica } of await own.run<Row>({ ...BEAT, values })) {
        if (role === null) signs.replicas.push(replica);
        else signs.roles.push(roleOf(role, holder, replica.beats));
      }
      if (signs.roles.some(({ name, holder }) => name === 'upkeep' && holder === id)) upkept();
      return signs;
    },
    remove: async (id) => void (await own.run({ ...REMOVE, values: [id] })),
  };
}

export function roleStore(own: OwnConnection): RoleStore {
  return {
    take: async ({ name, holder = null, beats }, taker) =>
      (await own.run({ ...TAKE, values: [name, holder, beats, taker] })).length > 0,
    release: async (holder) => void (await own.run({ ...RELEASE, values: [holder] })),
  };
}

const roleOf = (name: RoleName, holder: string | null, beats: number): RoleRecord => ({
  name,
  ...(holder !== null && { holder }),
  beats,
});
