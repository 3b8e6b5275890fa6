// A failure for want of an image names what works on this host.
import { expect, it } from 'vitest';
import { suggestProviders } from '../../../../src/control/spawn/choose.ts';
import { ServiceError } from '../../../../src/domain/errors.ts';
import { providerSet } from '../../../../src/providers/registry.ts';
import { fakeDeps } from '../../../support/fakes/ports.ts';
import { fakeProvider } from '../../../support/fakes/provider.ts';

const one = fakeProvider(fakeDeps());
const providers = providerSet([
  { ...one, kind: 'container' },
  { ...one, kind: 'userspace' },
]);
const ways = (error: unknown, healthy = true) => {
  const read = async () => ({ report: { healthy, findings: [] }, latency_ms: 1 });
  return suggestProviders({ providers, probes: { read } }, 'container', error);
};
const missing = new ServiceError('provider_error', 'Image x is not on the container engine.', {
  remedy: 'Pull it.',
  details: { reason: 'no_image', image: 'x' },
});

it('names the working providers', async () => {
  expect(await ways(missing)).toMatchObject({
    code: 'provider_error',
    message: missing.message,
    remedy: 'Pull it. Provider userspace works here: --provider userspace, or provider in the request.',
    details: { reason: 'no_image', providers: ['userspace'] },
  });
});

it('leaves other failures unchanged, and one without a working provider', async () => {
  expect(await ways(missing, false)).toBe(missing);
  const other = new ServiceError('timeout', 'Late.');
  expect(await ways(other)).toBe(other);
  expect(await ways('reason')).toBe('reason');
});
