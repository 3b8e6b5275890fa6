// What programs for E2B want of the ports of their sandbox (docs/e2b.md). It is kept in its metadata, which no call changes.

/** Metadata whose names begin so is not a program's own. */
export const NOTE_PREFIX = 'svc.e2b.';
const [ACCESS, HOST, HTTPS] = ['traffic', 'host', 'https'].map((name) => NOTE_PREFIX + name) as [
  string,
  string,
  string,
];
const PRIVATE = 'private';

export interface PortWish {
  /** Only holders of its traffic token reach the ports. */
  isPrivate?: boolean;
  /** The Host of requests in place of the name of the port; with the port for each dollar sign and PORT in braces. */
  host?: string | undefined;
  /** Ports whose programs speak TLS. */
  https?: readonly number[];
}

/** The metadata that keeps the wish. */
export function portNotes({ isPrivate, host, https = [] }: PortWish): Record<string, string> {
  return {
    ...(isPrivate && { [ACCESS]: PRIVATE }),
    ...(host !== undefined && { [HOST]: host }),
    ...(https.length > 0 && { [HTTPS]: https.join(',') }),
  };
}

/** The wish that the metadata of a sandbox keeps. */
export function portWish(metadata: Readonly<Record<string, string>>): Required<PortWish> {
  return {
    isPrivate: metadata[ACCESS] === PRIVATE,
    host: metadata[HOST],
    https: (metadata[HTTPS] ?? '')
      .split(',')
      .flatMap((text) => (/^\d{1,5}$/.test(text) ? [Number(text)] : [])),
  };
}
