// All gates of this server. It connects, so it is given nothing but a clock and what to tell.

import { Authority } from './authority.ts';
import { createAuthority } from './certificates.ts';
import { verdictOf } from './decide.ts';
import { dialTcp } from './dial.ts';
import type { Egress, EgressDeps } from './egress.ts';
import { OpenGate } from './gate.ts';
import { HttpFront } from './http-front.ts';
import { ownAddresses } from './own-addresses.ts';
import { Names } from './resolve.ts';
import { serverResolver } from './resolver.ts';
import { Slots } from './slots.ts';
import { trustedAuthority } from './trust.ts';

export function openEgress(deps: EgressDeps): Egress {
  const { clock, random, settings, onEvent, roots, dial = dialTcp } = deps;
  const resolver = deps.resolver ?? serverResolver(settings);
  const gates = new Map<string, OpenGate>();
  const slots = new Slots(() => settings().max_connections, clock);
  const isOwn = ownAddresses(clock, deps.ownAddresses);
  const shared = {
    clock,
    resolver,
    dial,
    isOwn,
    slots,
    settings,
    onEvent,
    roots,
    http: new HttpFront(clock),
  };
  return {
    open(sandbox_id, policy) {
      void gates.get(sandbox_id)?.close();
      const closed = (gate: OpenGate) => {
        if (gates.get(sandbox_id) === gate) gates.delete(sandbox_id);
      };
      const gate = new OpenGate(policy, { ...shared, sandbox_id, closed });
      gates.set(sandbox_id, gate);
      return gate;
    },
    gate: (sandbox_id) => gates.get(sandbox_id),
    check: async (policy, host, port) => {
      const names = new Names(resolver, clock);
      try {
        return await verdictOf({ policy, isOwn, addresses: (name) => names.addresses(name) }, host, port);
      } finally {
        names.close();
      }
    },
    createAuthority: (name, lifeMs) => createAuthority(name, { random, now: clock.now(), lifeMs }),
    authority: (pair) => new Authority(pair, clock, random),
    trusted: trustedAuthority,
    diagnostics: () => {
      const sizes = [...gates.values()].map((gate) => gate.sizes);
      const sum = (key: keyof (typeof sizes)[number]) => sizes.reduce((total, each) => total + each[key], 0);
      return {
        gates: gates.size,
        open: slots.open,
        waiting: slots.waiting + sum('waiting'),
        clients: sum('clients'),
        names: sum('names'),
        lines: sum('lines'),
      };
    },
    close: async () => {
      await Promise.all([...gates.values()].map((gate) => gate.close()));
    },
  };
}
