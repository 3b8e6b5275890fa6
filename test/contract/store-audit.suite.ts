// The contract of stores: the audit.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { AuditFilter } from '../../src/store/seam/audit.ts';
import { auditDraft, stamp } from '../support/records.ts';
import type { Given } from './store.suite.ts';

const keep = (keepUnproven: number, keepFrequent = 1000) => ({ keepUnproven, keepFrequent });

export function audited({ store }: Given): void {
  it('lists its records, newest first', async () => {
    const drafts = [
      auditDraft({ created_at: stamp(1), user_id: 'ann', user_agent: "x'; DROP TABLE audit --\u0000" }),
      auditDraft({ created_at: stamp(3) }),
      auditDraft({ created_at: stamp(2), duration_ms: 0.1 }),
    ];
    await store().audit.append(drafts);
    await store().audit.append([]);
    const all = await store().audit.list({ limit: 10 });
    expect(all.map(({ id: _, ...draft }) => draft)).toEqual([drafts[1], drafts[2], drafts[0]]);
    expect(new Set(all.map(({ id }) => id)).size).toBe(3);
  });

  it('filters and pages like a plain filter over all records', async () => {
    const facts = fc.record({
      actor: fc.constantFrom('none', 'admin:X-API-Key'),
      method: fc.constantFrom('GET', 'PUT'),
      status: fc.constantFrom(200, 403),
      path: fc.constantFrom('/a%b', '/a_b', '/A%B', '/axb'),
      created_at: fc.integer({ min: 0, max: 4 }).map(stamp),
    });
    const filters = fc.record(
      {
        actor: fc.constant('none'),
        method: fc.constant('PUT'),
        status: fc.constant(403),
        path: fc.constantFrom('%', 'a_', 'A', '/'),
        since: fc.integer({ min: 0, max: 4 }).map(stamp),
        until: fc.integer({ min: 0, max: 4 }).map(stamp),
      },
      { requiredKeys: [] },
    );
    let round = 0;
    const property = fc.asyncProperty(fc.array(facts, { maxLength: 12 }), filters, async (all, filter) => {
      const request_id = `round ${round++}`;
      await store().audit.purge(stamp(99), keep(0));
      await store().audit.append(all.map((fact) => auditDraft({ ...fact, request_id })));
      const wanted = all
        .filter(({ actor }) => filter.actor === undefined || actor === filter.actor)
        .filter(({ method }) => filter.method === undefined || method === filter.method)
        .filter(({ status }) => filter.status === undefined || status === filter.status)
        .filter(({ path }) => path.includes(filter.path ?? ''))
        .filter(({ created_at }) => created_at >= (filter.since ?? ''))
        .filter(({ created_at }) => created_at < (filter.until ?? '9'));
      const found = await paged(filter);
      expect(found.every((record) => record.request_id === request_id)).toBe(true);
      expect(found.map(({ created_at }) => created_at)).toEqual(
        wanted
          .map(({ created_at }) => created_at)
          .sort()
          .reverse(),
      );
      expect(new Set(found.map(({ id }) => id)).size).toBe(wanted.length);
    });
    await fc.assert(property, { numRuns: 100 });
  });

  async function paged(filter: Partial<AuditFilter>) {
    const found = [];
    for (;;) {
      const after = found.at(-1);
      const page = await store().audit.list({ ...filter, limit: 3, ...(after && { after }) });
      found.push(...page);
      if (page.length < 3) return found;
    }
  }

  it('deletes old records, and unauthenticated ones by number', async () => {
    const proven = [1, 2, 3].map((at) => auditDraft({ created_at: stamp(at), path: `/proven/${at}` }));
    const unproven = [1, 2, 3, 4].map((at) =>
      auditDraft({ created_at: stamp(at), actor: at % 2 ? 'none' : 'anonymous', path: `/unproven/${at}` }),
    );
    await store().audit.append([...proven, ...unproven]);
    expect(await store().audit.purge(stamp(0), keep(10))).toBe(0);
    expect(await store().audit.purge(stamp(0), keep(2))).toBe(2);
    expect(await store().audit.purge(stamp(3), keep(2))).toBe(2);
    const left = (await store().audit.list({ limit: 10 })).map(({ path }) => path).sort();
    expect(left).toEqual(['/proven/3', '/unproven/3', '/unproven/4']);
  });

  it('keeps what a call was about, and finds its records', async () => {
    const drafts = [
      auditDraft({ created_at: stamp(1), target: 'sb-a', frequent: true }),
      auditDraft({ created_at: stamp(2), target: 'sb-b', actor: 'key:ci' }),
      auditDraft({ created_at: stamp(3), target: 'sb-a', actor: 'key:ci' }),
      auditDraft({ created_at: stamp(4) }),
    ];
    await store().audit.append(drafts);
    const of = async (filter: Partial<AuditFilter>) =>
      (await store().audit.list({ limit: 10, ...filter })).map(({ created_at }) => created_at);
    expect(await of({ target: 'sb-a' })).toEqual([stamp(3), stamp(1)]);
    expect(await of({ target: 'sb-a', actor: 'key:ci' })).toEqual([stamp(3)]);
    expect(await of({ target: 'sb-' })).toEqual([]);
    const [plain, , , frequent] = await store().audit.list({ limit: 10 });
    expect(plain).not.toHaveProperty('target');
    expect(frequent).toMatchObject({ target: 'sb-a' });
    expect(frequent).not.toHaveProperty('frequent');
  });

  it('bounds frequent records by the newest of all, and no others', async () => {
    const drafts = [1, 2, 3, 4, 5, 6].map((at) =>
      auditDraft({ created_at: stamp(at), path: `/${at}`, ...(at % 2 === 1 && { frequent: true }) }),
    );
    await store().audit.append(drafts);
    expect(await store().audit.purge(stamp(0), keep(10, 6))).toBe(0);
    expect(await store().audit.purge(stamp(0), keep(10, 3))).toBe(2);
    const left = (await store().audit.list({ limit: 10 })).map(({ path }) => path).sort();
    expect(left).toEqual(['/2', '/4', '/5', '/6']);
  });

  it('bounds a frequent record of an unproven actor too, more at once than one step deletes', async () => {
    const many = Array.from({ length: 2500 }, (_, n) =>
      auditDraft({ created_at: stamp(1), path: `/${n}`, actor: 'none', frequent: true }),
    );
    await store().audit.append(many);
    expect(await store().audit.purge(stamp(0), keep(10_000, 100))).toBe(2400);
    expect(await store().audit.list({ limit: 1000 })).toHaveLength(100);
  });

  it('never gives an id twice', async () => {
    await store().audit.append([auditDraft()]);
    const [first] = await store().audit.list({ limit: 1 });
    await store().audit.purge(stamp(99), keep(0));
    await store().audit.append([auditDraft()]);
    const [second] = await store().audit.list({ limit: 1 });
    expect(second!.id).toBeGreaterThan(first!.id);
  });
}
