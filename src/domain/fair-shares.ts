// Divides a limited amount between requesters.

/**
 * How much each gets of `most`: an equal share, and of what others do not ask for equally more. Somebody who asks alone gets
 * all. The same for the same requests in the same order.
 */
export function fairShares<Key>(requests: ReadonlyMap<Key, number>, most: number): Map<Key, number> {
  const shares = new Map<Key, number>();
  let left = most;
  const modestFirst = [...requests].sort(([, a], [, b]) => a - b);
  for (const [index, [key, wanted]] of modestFirst.entries()) {
    const share = Math.min(wanted, Math.floor(left / (modestFirst.length - index)));
    shares.set(key, share);
    left -= share;
  }
  return shares;
}
