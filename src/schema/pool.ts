// The pool as the API shows it (docs/design/api.md#pool).
import { type Static, Type } from 'typebox';

export const PoolStatus = Type.Object(
  {
    enabled: Type.Boolean({ description: 'Sandboxes share VMs; without it nothing else is here.' }),
    vms: Type.Optional(Type.Integer({ description: 'VMs there are.' })),
    max_vms: Type.Optional(Type.Integer()),
    total_users: Type.Optional(Type.Integer({ description: 'Users who have a sandbox.' })),
    max_users_per_vm: Type.Optional(Type.Integer()),
  },
  { $id: 'PoolStatus', additionalProperties: false },
);
export type PoolStatus = Static<typeof PoolStatus>;
