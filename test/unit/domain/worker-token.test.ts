// Tokens of workers: what holds, and hundreds of variants that must not.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ServiceError } from '../../../src/domain/errors.ts';
import { identifyWorker, judgeWorker } from '../../../src/domain/worker-access.ts';
import { type WorkerAuth, workerSecrets } from '../../../src/domain/worker-secret.ts';
import {
  freshToken,
  mintWorkerToken,
  parseWorkerToken,
  type WorkerAudience,
  type WorkerTokenPayload,
} from '../../../src/domain/worker-token.ts';
import { forgedTokens } from '../../support/checks/forged-tokens.ts';

const NOW = Date.UTC(2030, 0, 1);
const NOW_S = NOW / 1000;
const SIGNED: WorkerAuth = { worker_signing_key: 'the signing key' };
const CONTROL: { aud: WorkerAudience; now: number } = { aud: 'worker:control-plane', now: NOW };

const secretOf = (auth: WorkerAuth, id = 'w1') => workerSecrets(auth, id)[0]?.secret ?? '';
const payload = (over: Partial<WorkerTokenPayload> = {}): WorkerTokenPayload => ({
  worker_id: 'w1',
  jti: 'one',
  aud: 'worker:control-plane',
  scopes: ['worker:heartbeat'],
  iat: NOW_S,
  exp: NOW_S + 300,
  ...over,
});
const signed = (over: Partial<WorkerTokenPayload> = {}, key = secretOf(SIGNED)) =>
  mintWorkerToken(key, payload(over));
const outcome = (auth: WorkerAuth, token: string | undefined, worker_id: string | undefined = 'w1') => {
  try {
    return identifyWorker(auth, { worker_id, token }, CONTROL).worker_id;
  } catch (error) {
    return error instanceof ServiceError ? error.code : error;
  }
};

describe("a worker's secret", () => {
  it('is its own entry, otherwise derived from the signing key, otherwise shared', () => {
    const all = { worker_tokens: { w1: 'own' }, worker_signing_key: 'k', worker_token: 'shared' };
    expect(secretOf(all)).toBe('own');
    expect(secretOf({ ...all, worker_tokens: {} })).toBe(secretOf({ worker_signing_key: 'k' }));
    expect(secretOf({ worker_token: 'shared' })).toBe('shared');
    expect(workerSecrets({ worker_tokens: { w1: 'own' } }, 'w2')).toEqual([]);
    expect(workerSecrets({ worker_tokens: { w1: 'own' } }, 'toString')).toEqual([]);
  });

  it.each<WorkerAuth>([
    { worker_tokens: { w1: '' } },
    { worker_token: '' },
    { worker_signing_key: '' },
    { worker_signing_key: '', worker_signing_key_previous: 'old' },
  ])('that is empty is none: %j', (auth) => {
    expect(workerSecrets(auth, 'w1')).toEqual([]);
  });

  it('differs for every worker and key', () => {
    const secrets = ['w1', 'w2', 'W1'].flatMap((id) =>
      ['k', 'l'].map((worker_signing_key) => secretOf({ worker_signing_key }, id)),
    );
    expect(new Set(secrets).size).toBe(secrets.length);
  });

  it('derived from the previous signing key is the second one', () => {
    const rotated = { worker_signing_key: 'new', worker_signing_key_previous: 'old' };
    expect(workerSecrets(rotated, 'w1').map(({ secret }) => secret)).toEqual([
      secretOf({ worker_signing_key: 'new' }),
      secretOf({ worker_signing_key: 'old' }),
    ]);
  });
});

describe('what identifies a worker', () => {
  it.each<[string, WorkerAuth, string | undefined, string | undefined, string]>([
    ['nothing configured', {}, 'x', 'w1', 'unavailable'],
    ['nothing configured but an old key', { worker_signing_key_previous: 'k' }, 'x', 'w1', 'unavailable'],
    ['the secret itself', SIGNED, secretOf(SIGNED), 'w1', 'w1'],
    ['the secret of another', SIGNED, secretOf(SIGNED, 'w2'), 'w1', 'unauthorized'],
    ['the signing key itself', SIGNED, 'the signing key', 'w1', 'unauthorized'],
    ['a token under the secret', SIGNED, signed(), 'w1', 'w1'],
    ['a token under the signing key', SIGNED, signed({}, 'the signing key'), 'w1', 'w1'],
    ['a token of another worker', SIGNED, signed({ worker_id: 'w2' }, 'the signing key'), 'w1', 'forbidden'],
    [
      'a token under another secret',
      SIGNED,
      signed({ worker_id: 'w2' }, secretOf(SIGNED, 'w2')),
      'w1',
      'unauthorized',
    ],
    ['no token', SIGNED, undefined, 'w1', 'unauthorized'],
    ['an empty token', SIGNED, '', 'w1', 'unauthorized'],
    ['no id', SIGNED, signed(), undefined, 'unauthorized'],
    ['an id with a slash', SIGNED, signed(), 'w/1', 'unauthorized'],
    ['the shared token', { worker_token: 'all' }, 'all', 'w1', 'w1'],
    [
      'the shared token beside an own one',
      { worker_token: 'all', worker_tokens: { w1: 'own' } },
      'all',
      'w1',
      'unauthorized',
    ],
    ['an unknown worker', { worker_tokens: { w2: 'own' } }, 'own', 'w1', 'unauthorized'],
    ['a revoked token', { ...SIGNED, worker_revoked_tokens: ['one'] }, signed(), 'w1', 'unauthorized'],
    [
      'the key before',
      { worker_signing_key: 'new', worker_signing_key_previous: 'the signing key' },
      signed(),
      'w1',
      'w1',
    ],
    [
      'the key before that',
      { worker_signing_key: 'new', worker_signing_key_previous: 'older' },
      signed(),
      'w1',
      'unauthorized',
    ],
  ])('%s', (_name, auth, token, id, expected) => {
    const presented = { worker_id: id, token };
    const verdict = judgeWorker(auth, presented, CONTROL);
    expect('code' in verdict ? verdict.code : verdict.worker_id).toBe(expected);
  });

  it.each<[string, Partial<WorkerTokenPayload>, boolean]>([
    ['for the other side', { aud: 'worker:rpc' }, false],
    ['for exactly 15 minutes', { exp: NOW_S + 900 }, true],
    ['for more than 15 minutes', { exp: NOW_S + 901 }, false],
    ['over', { iat: NOW_S - 300, exp: NOW_S }, false],
    ['in its last second', { iat: NOW_S - 300, exp: NOW_S + 1 }, true],
    ['made 30 s ahead of us', { iat: NOW_S + 30 }, true],
    ['made 31 s ahead of us', { iat: NOW_S + 31 }, false],
    ['not before 30 s from now', { nbf: NOW_S + 30 }, true],
    ['not before 31 s from now', { nbf: NOW_S + 31 }, false],
    ['never valid', { nbf: NOW_S + 20, exp: NOW_S + 20 }, false],
  ])('a token %s', (_name, over, holds) =>
    expect(outcome(SIGNED, signed(over))).toBe(holds ? 'w1' : 'unauthorized'),
  );

  it('names the secret that the worker uses while keys are rotated', () => {
    const rotated = { worker_signing_key: 'new', worker_signing_key_previous: 'old' };
    const old = secretOf({ worker_signing_key: 'old' });
    for (const token of [old, signed({}, old), signed({}, 'old')])
      expect(identifyWorker(rotated, { worker_id: 'w1', token }, CONTROL).secret).toBe(old);
    expect(identifyWorker(rotated, { worker_id: 'w1', token: signed({}, 'new') }, CONTROL).secret).toBe(
      secretOf({ worker_signing_key: 'new' }),
    );
  });

  it('grants only known scopes', () => {
    const scopes = (asked: string[]) =>
      identifyWorker(SIGNED, { worker_id: 'w1', token: signed({ scopes: asked }) }, CONTROL).scopes;
    expect(scopes(['admin', 'worker:*', 'worker:heartbeat'])).toEqual(['worker:heartbeat']);
    expect(scopes([])).toEqual([]);
  });

  it('does not tell the caller why a token was refused', () => {
    const said = ['x', signed({ exp: NOW_S - 1 }), signed({}, 'other')].map((token) => {
      try {
        return identifyWorker(SIGNED, { worker_id: 'w1', token }, CONTROL).worker_id;
      } catch (error) {
        return (error as Error).message;
      }
    });
    expect(new Set(said).size).toBe(1);
  });
});

describe('forged tokens', () => {
  it('are refused, each of 500', () => {
    const variants = forgedTokens({ good: signed(), payload: payload(), secret: secretOf(SIGNED), now: NOW });
    expect(variants.length).toBeGreaterThanOrEqual(500);
    expect(outcome(SIGNED, signed())).toBe('w1');
    const accepted = variants.filter(({ token }) => outcome(SIGNED, token) === 'w1');
    expect(accepted).toEqual([]);
  });

  it('of any text are refused without an exception', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
        expect(outcome(SIGNED, text)).toBe('unauthorized');
        expect(outcome(SIGNED, `svc-worker-v1.${text}`)).toBe('unauthorized');
        expect(['unauthorized', 'w1']).toContain(outcome(SIGNED, signed(), text));
      }),
    );
  });

  it('of any correctly signed JSON are refused without an exception', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const token = mintWorkerToken(secretOf(SIGNED), value as unknown as WorkerTokenPayload);
        expect(outcome(SIGNED, token)).toBe('unauthorized');
      }),
    );
  });
});

it('accepts a token that an earlier version signed', () => {
  const payload =
    'eyJ3b3JrZXJfaWQiOiJ3MSIsImp0aSI6Im9uZSIsImF1ZCI6Indvcmtlcjpjb250cm9sLXBsYW5lIiwic2NvcGVzIjpbIndvcmtlcjpoZWFydGJlYXQiXSwiaWF0IjoxODkzNDU2MDAwLCJleHAiOjE4OTM0NTYzMDB9';
  const token = `svc-worker-v1.${payload}.bIMlNax989Vf6jArT0hC3N7QfaQ2FDCkOzkc44ebLmQ`;
  expect(outcome({ worker_token: 'shared secret of the workers 0123456789' }, token)).toBe('w1');
});

it('accepts a token that it made', () => {
  const id = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/);
  fc.assert(
    fc.property(id, fc.string({ minLength: 1 }), (worker_id, key) => {
      const token = freshToken(key, { worker_id, aud: 'worker:rpc', jti: 'x', now: NOW });
      expect(parseWorkerToken(token)?.payload).toMatchObject({ worker_id, iat: NOW_S, exp: NOW_S + 300 });
    }),
  );
});
