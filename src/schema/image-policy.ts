// Whether a spawn pulls its image.

/** In `images.pull`, spawn requests and templates; from the strictest on. */
export const PULL_POLICIES = ['never', 'missing', 'always'] as const;
export type PullPolicy = (typeof PULL_POLICIES)[number];

/**
 * What a start does about its image. `optional`: pulls nothing, and runs on the default root with a warning if the image is
 * missing. `present`: pulls nothing, and fails if it is missing. `missing` and `always`: pulls as `images.pull` says, and fails if
 * the image cannot be had.
 */
export const IMAGE_POLICIES = ['optional', 'present', 'missing', 'always'] as const;
export type ImagePolicy = (typeof IMAGE_POLICIES)[number];

export const IMAGE_DIGEST = '^sha256:[0-9a-f]{64}$';
