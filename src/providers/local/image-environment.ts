// The environment that an image of the store brings for every command. What a template or a request sets comes above it.

/** svc-agent keeps 64 variables for a sandbox, its own among them. */
const MOST_VARIABLES = 48;
const MOST_BYTES = 16 * 1024;
/** They say who and where a sandbox is, whatever its image. */
const OWN = ['HOME', 'USER', 'LOGNAME'];

/** An image of the store; absent for others. */
interface Chosen {
  stored?: { image: { config: { env: Record<string, string> } } };
}

/** As much of it as fits, and a warning when that is not all. */
export function imageEnvironment({ stored }: Chosen): {
  env: Record<string, string>;
  warnings: string[];
} {
  const all = Object.entries(stored?.image.config.env ?? {}).filter(([key]) => !OWN.includes(key));
  const kept: typeof all = [];
  let bytes = 0;
  for (const [key, value] of all) {
    const size = Buffer.byteLength(key) + Buffer.byteLength(value);
    if (kept.length === MOST_VARIABLES || bytes + size > MOST_BYTES) continue;
    bytes += size;
    kept.push([key, value]);
  }
  const warnings =
    kept.length < all.length
      ? [`Only ${kept.length} of ${all.length} environment variables of the image are set.`]
      : [];
  return { env: Object.fromEntries(kept), warnings };
}
