// What a sandbox says of itself: a part of io.ts.

/** What a sandbox says of itself. It can say anything. */
export interface GuestFacts {
  /** The sandbox reads these of its kernel, which may be the host's. */
  memory_bytes?: number;
  memory_total_bytes?: number;
  processes?: number;
  /** Sums of all interfaces without the loopback. */
  rx_bytes?: number;
  tx_bytes?: number;
  /** The file systems at `/`, `/workspace` and `/tmp`, each once. */
  disks: { path: string; used_bytes: number; total_bytes: number }[];
}
