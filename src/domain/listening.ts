// The tables of the kernel about TCP (/proc/net/tcp and tcp6), as a sandbox hands them over: it may write anything there.

/** As the kernel numbers states. */
const LISTENS = '0A';
const ENTRY = /^\s*\d+: ([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4}) \S+ ([0-9A-F]{2}) \S+ \S+ \S+ +(\d{1,10}) /;

export interface Listener {
  address: string;
  port: number;
  uid: number;
}

/** Lines of another shape are left out; at most `most`. */
export function listenersOf(table: string, most: number): Listener[] {
  const found: Listener[] = [];
  for (const line of table.split('\n')) {
    if (found.length >= most) break;
    const [, address = '', port = '', state, uid] = ENTRY.exec(line) ?? [];
    if (state !== LISTENS) continue;
    found.push({ address: addressOf(address), port: Number.parseInt(port, 16), uid: Number(uid) });
  }
  return found;
}

/** The kernel prints words of 32 bits as a little-endian machine stores them. */
function addressOf(hex: string): string {
  const bytes = Buffer.from(hex, 'hex');
  for (let at = 0; at < bytes.length; at += 4) bytes.subarray(at, at + 4).reverse();
  if (bytes.length === 4) return bytes.join('.');
  const words = Array.from({ length: 8 }, (_, n) => bytes.readUInt16BE(2 * n).toString(16));
  // The URL standard shortens them.
  return new URL(`http://[${words.join(':')}]`).hostname.slice(1, -1);
}
