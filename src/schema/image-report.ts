// What `svc image` answers; the documented shapes of its `--json`. Stamps are ISO 8601.

/** An image of microVMs. */
export interface ImageItem {
  name: string;
  size_bytes: number;
  /** SHA-256 of a built one, hex; a file of the configuration has none. */
  digest?: string;
  created_at?: string;
  /** What it was built from, or `configured`. */
  source: string;
}

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
