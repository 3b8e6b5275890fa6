// Prepares spawns: the request is completed and validated, and can then wait (order.ts) until an attempt reserves capacity for it.
import { requestOfRow } from '../../domain/admission.ts';
import type { Ids } from '../../domain/ports.ts';
import type { OwnerLimits } from '../../domain/quota.ts';
import { ttlRefused } from '../../domain/ttl.ts';
import type { SpawnRequest } from '../../schema/sandbox.ts';
import type { TemplateStore } from '../../store/seam/templates.ts';
import type { Ticket } from '../../store/seam/tickets.ts';
import type { IdempotencyClaim } from '../../store/store.ts';
import type { Caller } from '../api/caller.ts';
import type { TicketAttempt } from '../queue/desk.ts';
import type { Credentials } from '../runtime/credentials.ts';
import { chooseProvider, providerOf } from './choose.ts';
import { egressPlace, egressWish, withCredentials } from './egress.ts';
import {
  firstWithCapacity,
  noteDemand,
  Order,
  type OrderDeps,
  planOf,
  reservingOf,
  type StoredSpawn,
} from './order.ts';
import { spawnOwner } from './plan.ts';
import { refuseLocally, reserveTicket } from './reserve.ts';
import { templateShape } from './take-prewarmed.ts';
import { withTemplate } from './template-request.ts';

export interface PrepareDeps extends OrderDeps {
  templates: Pick<TemplateStore, 'get'>;
  credentials: Pick<Credentials, 'wish'>;
  ids: Ids;
}

export interface SpawnCall {
  request: SpawnRequest;
  caller: Caller;
  claim: IdempotencyClaim | undefined;
}

export class SpawnOrders {
  readonly #deps: PrepareDeps;

  constructor(deps: PrepareDeps) {
    this.#deps = deps;
  }

  /** Completes and validates the request, so that it can wait in the queue. */
  async prepare(
    { request: short, caller, claim }: SpawnCall,
    chose: (provider: string) => void,
  ): Promise<Order> {
    const { settings, ids, limitsOf } = this.#deps;
    const owner_id = spawnOwner(short, caller, settings);
    const full = await withTemplate(this.#deps.templates, short, owner_id);
    const { setup, template } = full;
    const { egress: wish, request } = await withCredentials(this.#deps, full.request, {
      wish: egressWish(short, template, settings),
      owner_id,
    });
    const provider = await chooseProvider(this.#deps, request.provider);
    chose(provider.kind);
    const place = wish && (await egressPlace(this.#deps, provider, { wish, worker_id: request.worker_id }));
    const names = { id: ids.sandbox(), ...(settings.pool && { vm_id: ids.vm() }) };
    const asksNetwork = short.network === 'default';
    const shape = template && templateShape(template);
    const asked = { request, setup, asksNetwork, provider: provider.kind, caller };
    const stored = place ? { ...asked, ...place } : asked;
    const spawn: StoredSpawn = shape ? { ...stored, template: shape } : stored;
    const limits = await limitsOf(owner_id);
    const plan = planOf(this.#deps, spawn, provider, { limits, names });
    // Refused before the spawn waits, since no capacity would help it.
    const { maxTtlMs } = limits;
    if (maxTtlMs > 0 && requestOfRow(plan.row).ttlMs > maxTtlMs) throw ttlRefused(maxTtlMs);
    await refuseLocally(this.#deps, plan, provider);
    return new Order(this.#deps, {
      spawn,
      owner_id,
      chosen: provider,
      names,
      claim,
      first: { plan, limits },
    });
  }

  /** Tries to admit the spawn of a ticket; its home starts the sandbox. */
  async attempt({ id, home, claim, spawn: json }: Ticket, limits: OwnerLimits): Promise<TicketAttempt> {
    const spawn = JSON.parse(json) as StoredSpawn;
    const chosen = providerOf(this.#deps, spawn.provider);
    const tried = await firstWithCapacity<TicketAttempt>(this.#deps, spawn, chosen, async (provider) => {
      const plan = planOf(this.#deps, spawn, provider, { limits, names: { id } });
      const reserving = reservingOf(this.#deps, spawn, plan, { provider, claim });
      const tried = await reserveTicket(this.#deps, reserving, { id, home });
      if (tried.kind === 'admitted') noteDemand(this.#deps, reserving);
      return tried.kind === 'denied' ? { denied: tried.decision } : { admitted: tried };
    });
    return 'admitted' in tried ? tried.admitted : { kind: 'denied', decision: tried.denied };
  }
}
