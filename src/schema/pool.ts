// The pool as the API shows it (docs/design/api.md#pool).
import { type Static, Type } from 'typebox';

export const PoolStatus = Type.Object(
  {
    enabled: Type.Boolean({
      description: 'Whether sandboxes share VMs; if false, the other fields are absent.',
    }),
    vms: Type.Optional(Type.Integer({ description: 'Number of VMs.' })),
    max_vms: Type.Optional(Type.Integer()),
    total_users: Type.Optional(Type.Integer({ description: 'Users with a sandbox in the pool.' })),
    max_users_per_vm: Type.Optional(Type.Integer()),
  },
  { $id: 'PoolStatus', additionalProperties: false },
);
export type PoolStatus = Static<typeof PoolStatus>;
