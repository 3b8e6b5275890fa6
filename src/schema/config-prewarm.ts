// Sandboxes that are started before they are asked for, without a template: a part of config.ts.
import type { Static } from 'typebox';
import { flag, integer, section } from './config-kinds.ts';

export const PrewarmConfig = section(
  'Sandboxes that the server starts before they are asked for (docs/prewarming.md).',
  {
    auto: flag(
      true,
      'Keep containers and virtual machines ready in the shapes that were spawned lately without a template.',
    ),
    auto_max: integer(8, 0, 64, 'Maximum number of them; 0 keeps none.'),
    auto_memory_mb: integer(
      4096,
      0,
      1_048_576,
      'Maximum of their memory limits together, in megabytes; never more than a quarter of the memory of the host.',
    ),
  },
);
export type PrewarmConfig = Static<typeof PrewarmConfig>;
