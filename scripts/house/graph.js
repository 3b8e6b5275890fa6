// Groups of a graph whose members all lead back to each other.

/**
 * The strongly connected components of more than one member, largest first (Tarjan's algorithm).
 *
 * @param {ReadonlyMap<string, readonly string[]>} graph
 * @returns {string[][]}
 */
export function cyclicGroups(graph) {
  /** @type {Map<string, { index: number, low: number, onStack: boolean }>} */
  const seen = new Map();
  /** @type {string[]} */
  const stack = [];
  /** @type {string[][]} */
  const groups = [];
  /** @param {string} name */
  const visit = (name) => {
    const own = { index: seen.size, low: seen.size, onStack: true };
    seen.set(name, own);
    stack.push(name);
    for (const next of graph.get(name) ?? []) {
      const other = seen.get(next);
      if (other?.onStack) own.low = Math.min(own.low, other.index);
      else if (!other && graph.has(next)) own.low = Math.min(own.low, visit(next).low);
    }
    if (own.low === own.index) {
      const group = stack.splice(stack.indexOf(name));
      for (const member of group) /** @type {{ onStack: boolean }} */ (seen.get(member)).onStack = false;
      if (group.length > 1) groups.push(group.sort());
    }
    return own;
  };
  for (const name of graph.keys()) if (!seen.has(name)) visit(name);
  return groups.sort((a, b) => b.length - a.length);
}
