// What handlers may know of the server itself.

export interface ServerFacts {
  /** Of the package, for example `0.1.0`. */
  version: string;
  /** Bytes of a raw upload at most. */
  maxFileSize: number;
  /** The API description, rendered once. */
  openapi(): { json: string; yaml: string };
}
