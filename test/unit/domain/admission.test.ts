// Admission against a plain restatement of its table: the first cap that has no room, in order.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decideAdmission, isCapacityDenial } from '../../../src/domain/admission.ts';
import { effectiveLimits, parseQuotaOwner, quotaOf } from '../../../src/domain/quota.ts';
import { ADMISSION_REASONS } from '../../../src/schema/admission.ts';
import { stamp } from '../../support/records.ts';

const NO_OWNER_CAPS = { max_sandboxes: 0, maxTtlMs: 0, maxExecTimeoutMs: 0 };
const cap = fc.nat(4);
const world = fc.record({
  all: cap,
  provider: cap,
  owner: cap,
  maxAll: cap,
  maxProvider: fc.option(cap, { nil: undefined }),
  maxOwner: cap,
  quota: fc.option(cap, { nil: undefined }),
  hasOwner: fc.boolean(),
  ttl: fc.integer({ min: 1, max: 4 }),
  maxTtl: cap,
  unplaceable: fc.constantFrom(undefined, 'provider_unknown' as const, 'worker_unavailable' as const),
});

describe('admission', () => {
  it('returns the first exhausted limit, in the documented order', () => {
    fc.assert(
      fc.property(world, (w) => {
        const decision = decideAdmission(
          { provider: 'p', ttlMs: w.ttl * 1000, ...(w.hasOwner && { owner_id: 'ann' }) },
          {
            max_sandboxes: w.maxAll,
            ...(w.maxProvider !== undefined && { max_provider_sandboxes: w.maxProvider }),
            owner: { max_sandboxes: w.maxOwner, maxTtlMs: w.maxTtl * 1000, maxExecTimeoutMs: 0 },
            ...(w.unplaceable && { unplaceable: w.unplaceable }),
          },
          {
            usage: {
              active_sandboxes: w.all,
              active_provider_sandboxes: w.provider,
              ...(w.hasOwner && { active_owner_sandboxes: w.owner }),
            },
            quota:
              w.hasOwner && w.quota !== undefined
                ? quotaOf('ann', { max_sandboxes: w.quota }, stamp())
                : undefined,
          },
        );
        const full = (used: number, most = 0) => most > 0 && used >= most;
        const ownerCap = w.quota || w.maxOwner;
        const expected = [
          w.unplaceable === 'provider_unknown' && 'provider_unknown',
          w.maxTtl > 0 && w.ttl > w.maxTtl && 'max_ttl',
          w.unplaceable === 'worker_unavailable' && 'worker_unavailable',
          full(w.all, w.maxAll) && 'max_sandboxes',
          w.hasOwner && full(w.owner, ownerCap) && 'max_sandboxes_per_owner',
          full(w.provider, w.maxProvider) && 'worker_capacity',
        ].find((reason) => reason !== false);
        expect(decision.reason).toBe(expected);
        expect(decision.allowed).toBe(expected === undefined);
        expect(decision.message === undefined).toBe(expected === undefined);
      }),
    );
  });

  it('queues only for limits that free up with time', () => {
    const waits = ADMISSION_REASONS.filter((reason) => isCapacityDenial({ reason }));
    expect(waits).toEqual(['max_sandboxes', 'max_sandboxes_per_owner', 'worker_capacity', 'pool_full']);
    expect(isCapacityDenial({})).toBe(false);
  });
});

describe('a quota', () => {
  const defaults = { max_sandboxes: 5, maxTtlMs: 60_000, maxExecTimeoutMs: 30_000 };

  it('replaces each default that it names', () => {
    expect(effectiveLimits(undefined, defaults)).toBe(defaults);
    expect(effectiveLimits(quotaOf('ann', {}, stamp()), defaults)).toEqual(defaults);
    const quota = quotaOf('ann', { max_sandboxes: 9, max_ttl: '2h', max_exec_timeout: '1s' }, stamp());
    expect(effectiveLimits(quota, NO_OWNER_CAPS)).toEqual({
      ...{ max_sandboxes: 9, maxTtlMs: 7_200_000, maxExecTimeoutMs: 1000, ownExecTimeoutMs: 1000 },
    });
  });

  it('is stored in canonical form', () => {
    expect(quotaOf('ann', { max_ttl: '90m', max_exec_timeout: '120s' }, stamp())).toEqual({
      ...{ owner_id: 'ann', max_sandboxes: 0, max_ttl: '1h30m', max_exec_timeout: '2m' },
      ...{ created_at: stamp(), updated_at: stamp() },
    });
  });

  it.each(['500ms', '1.5s', '0.5h', '-1s', '', '1', '1h1h', '9000h'])('refuses %j', (max_ttl) =>
    expect(() => quotaOf('ann', { max_ttl }, stamp())).toThrow(
      expect.objectContaining({ code: 'bad_request' }),
    ),
  );

  it.each(['summary', ' ', 'a/b', 'a b', 'x'.repeat(129)])('refuses the owner %j', (owner) =>
    expect(() => parseQuotaOwner(owner)).toThrow(expect.objectContaining({ code: 'bad_request' })),
  );
});
