// Maps that remember the newest of what they are given.

/** Makes the entry the newest of the map; beyond `most` entries the oldest is forgotten. */
export function keepNewest<K, V>(map: Map<K, V>, key: K, value: V, most: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= most) return;
  const { value: oldest } = map.keys().next() as { value: K };
  map.delete(oldest);
}
