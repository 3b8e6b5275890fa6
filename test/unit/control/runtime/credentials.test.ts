// Credentials that several servers keep in one store: each knows at once what another has stored or removed.
import { expect, it } from 'vitest';
import { Credentials } from '../../../../src/control/runtime/credentials.ts';
import { sealWith } from '../../../../src/domain/seal.ts';
import { realRandom } from '../../../../src/host/random.ts';
import { noSignals } from '../../../../src/store/single-replica.ts';
import { fakeClock, silentLogger } from '../../../support/fakes/ports.ts';
import { memorySecrets } from '../../../support/memory-store/secrets.ts';

function servers() {
  const secrets = memorySecrets();
  const seal = sealWith('a key of a test, of 32 characters', realRandom());
  const server = () =>
    new Credentials({
      ...{ secrets, signals: noSignals, seal: async () => seal, conceal: () => () => undefined },
      config: { current: () => ({ egress: { credential_terms: {} } }), onChange: () => undefined },
      clock: fakeClock(),
      logger: silentLogger,
    });
  return [server(), server()] as const;
}

const CREDENTIAL = { value: 'a-value-of-a-test-0123456789', hosts: ['api.example.com'], env: 'TOKEN' };
const ANN = { owner_id: 'ann' };

it('knows a credential that another server has just stored, without a signal', async () => {
  const [first, second] = servers();
  const policy = { credentials: ['fresh'] };
  await expect(second.sealed(policy, ANN)).rejects.toMatchObject({ code: 'bad_request' });
  await first.put('fresh', { ...CREDENTIAL, owners: ['bob'] } as never);
  await expect(second.sealed(policy, ANN)).rejects.toMatchObject({ code: 'bad_request' });
  await first.put('fresh', { ...CREDENTIAL, owners: ['ann'] } as never);
  expect(await second.sealed(policy, ANN)).toEqual(policy);
  expect(await second.wish({ spawn: policy } as never, 'ann')).toMatchObject({
    env: { TOKEN: expect.any(String) },
  });
  expect((await second.list()).map(({ name }) => name)).toEqual(['fresh']);
  await first.remove('fresh');
  expect(await second.list()).toEqual([]);
});
