// The ports that a transparent gate opens: those that rules name, and those of the policies themselves. Which connections pass
// is decided for each.
import { MOST_PORTS } from '../../schema/egress.ts';
import type { EgressLayer } from './policy.ts';
import { USUAL_PORTS } from './rule.ts';

export interface GatePorts {
  /** In order, each once, at most 64. A range that is wider, such as `*`, opens none: the policy names such ports by itself. */
  readonly ports: readonly number[];
  /** Rules cover more ports than a gate opens. */
  readonly isCut: boolean;
}

/** `named` are the ports of the policies, undefined for one that names none. */
export function gatePorts(
  layers: readonly EgressLayer[],
  named: readonly (readonly number[] | undefined)[],
): GatePorts {
  const ports = new Set<number>();
  const isNamed = named.some((list) => list !== undefined);
  for (const port of isNamed ? named.flatMap((list) => list ?? []) : USUAL_PORTS.map(([first]) => first))
    ports.add(port);
  let isCut = false;
  // The layer of the spawn says most precisely what is wanted.
  for (const { name, allow } of [...layers].reverse())
    for (const rule of allow)
      for (const [first, last] of rule.ports) {
        const isOpen = last - first < MOST_PORTS && addRange(ports, first, last);
        isCut ||= !isOpen && name !== 'server';
      }
  return { ports: [...ports].sort((a, b) => a - b), isCut };
}

/** Whether all of them have room. */
function addRange(ports: Set<number>, first: number, last: number): boolean {
  for (let port = first; port <= last; port++) {
    if (ports.size >= MOST_PORTS && !ports.has(port)) return false;
    ports.add(port);
  }
  return true;
}
