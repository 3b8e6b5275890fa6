// What a sandbox says of itself: a part of usage.ts.
import { type Static, Type } from 'typebox';

const number = (description: string) => Type.Optional(Type.Number({ minimum: 0, description }));
const whole = (description: string) => Type.Integer({ minimum: 0, description });

export const GuestUsage = Type.Object(
  {
    memory_bytes: number('Memory in use, of its own kernel.'),
    memory_total_bytes: number('Memory of its own kernel.'),
    processes: number('Processes.'),
    rx_bytes: number('Bytes received since its start.'),
    tx_bytes: number('Bytes sent since its start.'),
    disks: Type.Array(
      Type.Object(
        { path: Type.String(), used_bytes: whole('In use.'), total_bytes: whole('In all.') },
        { additionalProperties: false },
      ),
      {
        description:
          'Of /, /workspace and /tmp, each file system once. Of a file system that is the host’s, the numbers are the host’s.',
      },
    ),
  },
  {
    $id: 'GuestUsage',
    additionalProperties: false,
    description:
      'What the sandbox says of itself. It can forge that, and nothing of it is in totals. Only while it runs; memory and network only of virtual machines.',
  },
);
export type GuestUsage = Static<typeof GuestUsage>;
