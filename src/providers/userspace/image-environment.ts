// The environment that an image of the store brings for every command. What a template or a request sets comes above it.
import type { ChosenImage } from './image.ts';

/** svc-agent keeps 64 variables for a sandbox, its own among them. */
const MOST_VARIABLES = 48;
const MOST_BYTES = 16 * 1024;
/** They say who and where a sandbox is, whatever its image. */
const OWN = ['HOME', 'USER', 'LOGNAME'];

/** As much of it as fits, and a warning when that is not all. */
export function imageEnvironment({ stored }: Pick<ChosenImage, 'stored'>): {
  env: Record<string, string>;
  warnings: string[];
} {
  const all = Object.entries(stored?.image.config.env ?? {}).filter(([key]) => !OWN.includes(key));
  const kept: typeof all = [];
  let bytes = 0;
  for (const [key, value] of all) {
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
    if (kept.length < MOST_VARIABLES && bytes <= MOST_BYTES) kept.push([key, value]);
  }
  const warnings =
    kept.length < all.length
      ? [`Only ${kept.length} of ${all.length} environment variables of the image are set.`]
      : [];
  return { env: Object.fromEntries(kept), warnings };
}
