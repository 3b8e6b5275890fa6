// Which routes the audit records: every one that is not a read, or a reason why not.
import { describe, expect, it } from 'vitest';
import { PATHS, type RouteId } from '../../../src/http/paths.ts';
import { routeAudit, UNAUDITED } from '../../../src/http/route-audit.ts';
import { ROUTES } from '../../../src/http/routes/routes.ts';

const ids = Object.keys(PATHS) as RouteId[];
const audited = (id: RouteId) => routeAudit(id) !== 'never';

describe('the rule', () => {
  it.each(ids.filter((id) => !PATHS[id].startsWith('GET ')))('%s is recorded or listed', (id) => {
    expect(audited(id)).toBe(UNAUDITED[id] === undefined);
  });

  it('exempts only recordable routes, each with a reason', () => {
    for (const [id, reason] of Object.entries(UNAUDITED)) {
      expect(PATHS[id as RouteId]).not.toMatch(/^GET |\/admin/);
      expect(reason.length).toBeGreaterThan(10);
    }
  });

  it('records no reads except those below /admin and the exec socket', () => {
    const reads = ids.filter((id) => PATHS[id].startsWith('GET ') && audited(id));
    expect(reads.filter((id) => !PATHS[id].includes('/admin'))).toEqual(['execSocket']);
  });

  it('needs audit.execs only for calls inside sandboxes', () => {
    expect(ids.filter((id) => routeAudit(id) === 'inside').sort()).toEqual(
      [
        ...['exec', 'execSocket', 'signalExec', 'createPreview', 'writeFile', 'putFile', 'removeFile'],
        ...['moveFile', 'linkFile', 'chmodFile', 'makeDirectory', 'putArchive'],
        ...['runCode', 'createCodeContext', 'restartCodeContext', 'removeCodeContext'],
      ].sort(),
    );
  });

  it('limits only the records of sandbox calls', () => {
    const frequent = ids.filter((id) => routeAudit(id) === 'frequent').sort();
    expect(frequent).toEqual(
      [
        ...['spawnSandbox', 'spawnTemplate', 'destroySandbox', 'extendSandbox'],
        ...['pruneSandboxes', 'deleteExpiredSandboxes', 'putEgress'],
      ].sort(),
    );
    for (const id of ['createTemplate', 'putQuota', 'deleteQuota', 'drainWorker', 'removeWorker'] as const)
      expect(routeAudit(id), id).toBe('kept');
  });
});

it('every route follows the rule', () => {
  for (const { id, audited: verdict } of ROUTES) expect(verdict, id).toBe(routeAudit(id));
});
