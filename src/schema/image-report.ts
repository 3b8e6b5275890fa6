// What `svc image` answers; the documented shapes of its `--json`. Stamps are ISO 8601.

/** A disk of microVMs, or an image of the store. */
export interface ImageItem {
  name: string;
  size_bytes: number;
  /** SHA-256 in hex of a built disk; digest of an image of the store; a file of the configuration has none. */
  digest?: string;
  created_at?: string;
  /** What it was built from, or `configured`. */
  source: string;
}

/** A line of `svc image list`. */
export interface ImageListItem extends ImageItem {
  provider: ImageProvider;
  /** Sandboxes that run on an image of the store. */
  sandboxes?: number;
  last_used_at?: string;
}

/** The providers that run images of this machine. */
export const IMAGE_PROVIDERS = ['microvm', 'userspace'] as const;
export type ImageProvider = (typeof IMAGE_PROVIDERS)[number];

export interface ImageBuildReport extends ImageItem {
  digest: string;
  created_at: string;
  files: number;
  /** Bytes in them. */
  content_bytes: number;
  /** What of the source is not in the image. */
  warnings: string[];
  duration_ms: number;
}

/** What a removal took from the disk. */
export interface ImageFreed {
  freed_bytes: number;
}

export interface ImageRemoval extends ImageFreed {
  /** Names. */
  removed: string[];
}

/** A file of an image that is not as it was stored. */
export interface ImageDifference {
  /** Digest of the layer; absent for a file of the merged tree that sandboxes start from. */
  layer?: string;
  /** Empty for an entire layer. Bytes that are not UTF-8 are replaced. */
  path: string;
  problem: string;
}

export interface VerifiedImage {
  name: string;
  digest: string;
  /** Files, folders and links of its layers that were compared. */
  checked: number;
  /** The first thousand. */
  differences: ImageDifference[];
}

/** What `svc image verify` answers. */
export interface ImageVerification {
  ok: boolean;
  images: VerifiedImage[];
}
