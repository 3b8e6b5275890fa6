// What a provider keeps to start sandboxes faster, as the API shows it (docs/design/api.md#snapshots).
import { type Static, Type } from 'typebox';

export const Snapshot = Type.Object(
  {
    image: Type.String({ description: 'Sandboxes of this image are restored from it.' }),
    kernel: Type.String({ description: 'Version of the kernel in it.' }),
    size: Type.Integer({ description: 'Bytes that it takes on the disk.' }),
    created_at: Type.String({ format: 'date-time' }),
    provider: Type.String(),
  },
  { $id: 'Snapshot', additionalProperties: false },
);
export type Snapshot = Static<typeof Snapshot>;
