// What a provider keeps to start sandboxes faster, as the API shows it (docs/design/api.md#snapshots).
import { type Static, Type } from 'typebox';

export const Snapshot = Type.Object(
  {
    image: Type.String({ description: 'The image whose sandboxes are restored from this snapshot.' }),
    kernel: Type.String({ description: 'Version of the guest kernel.' }),
    size: Type.Integer({ description: 'Size on disk in bytes.' }),
    created_at: Type.String({ format: 'date-time' }),
    provider: Type.String(),
  },
  { $id: 'Snapshot', additionalProperties: false },
);
export type Snapshot = Static<typeof Snapshot>;
