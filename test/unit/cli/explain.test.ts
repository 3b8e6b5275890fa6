// Every state and every reason has words and a next step.
import { expect, it } from 'vitest';
import { explain, explanationText } from '../../../src/cli/explain.ts';
import { ServiceError } from '../../../src/domain/errors.ts';
import { END_REASONS } from '../../../src/schema/sandbox.ts';
import { SANDBOX_STATES } from '../../../src/schema/sandbox-states.ts';
import { fakeSandbox } from '../../support/fakes/control-plane.ts';

const gone = (details?: Record<string, unknown>) => ({
  get: async () => {
    throw new ServiceError('not_found', 'Gone.', details === undefined ? {} : { details });
  },
});

it.each(SANDBOX_STATES)('%s', async (state) => {
  const explained = await explain({ get: async () => ({ ...fakeSandbox('sb-a'), state }) }, 'sb-a');
  expect(explained).toMatchObject({ id: 'sb-a', state, provider: 'userspace' });
  expect(explained.why).not.toBe('');
  expect(explained.next.join()).not.toMatch(/^$|PROVIDER/);
});

it.each(END_REASONS)('%s', async (end_reason) => {
  const details = { end_reason, ended_at: '2026-01-01T00:00:00.000Z', request_id: 'r' };
  const explained = await explain(gone(details), 'sb-a');
  expect(explained).toMatchObject({ id: 'sb-a', state: 'ended', end_reason });
  expect(explained.next.at(-1)).toBe('Spawn a new one: svc sandbox create');
  expect(explanationText(explained, Date.parse('2026-01-01T00:01:00Z'))).toContain('(1m ago)');
});

it('shows an unknown reason of a newer server', async () => {
  expect((await explain(gone({ end_reason: 'eaten' }), 'sb-a')).why).toBe('It ended: eaten.');
});

it('fails for a sandbox that the server has forgotten', async () => {
  await expect(explain(gone({ request_id: 'r' }), 'sb-a')).rejects.toMatchObject({ code: 'not_found' });
  await expect(explain(gone(), 'sb-a')).rejects.toMatchObject({ code: 'not_found' });
});
