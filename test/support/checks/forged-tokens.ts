// Variants of a good worker token, none of which may be accepted. Used on the rules themselves and on running processes.
import { createHmac } from 'node:crypto';
import { mintWorkerToken, type WorkerTokenPayload } from '../../../src/domain/worker-token.ts';

export interface Forgery {
  how: string;
  token: string;
}

interface Genuine {
  /** Accepted as it is. */
  good: string;
  payload: WorkerTokenPayload;
  secret: string;
  /** ms since 1970, when `good` is accepted. */
  now: number;
}

/** More than 500, always the same for the same token. */
export function forgedTokens(genuine: Genuine): Forgery[] {
  return [
    ...flippedLetters(genuine),
    ...cutTokens(genuine),
    ...rewrapped(genuine),
    ...wrongFields(genuine),
    ...wrongKeys(genuine),
  ];
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** Each letter of payload and signature replaced by its neighbour, which in the last one may leave the bytes the same. */
function flippedLetters({ good }: Genuine): Forgery[] {
  return [...good].map((letter, at) => {
    const next = LETTERS[(LETTERS.indexOf(letter) + 1) % LETTERS.length] ?? 'A';
    return { how: `letter ${at} changed`, token: good.slice(0, at) + next + good.slice(at + 1) };
  });
}

function cutTokens({ good }: Genuine): Forgery[] {
  const cuts = Array.from({ length: 150 }, (_, length) => ({
    how: `cut by ${length + 1}`,
    token: good.slice(0, -(length + 1)),
  }));
  return [
    ...cuts,
    { how: 'twice', token: good + good },
    { how: 'a fourth part', token: `${good}.${good.split('.')[2]}` },
  ];
}

function rewrapped({ good }: Genuine): Forgery[] {
  const [prefix = '', body = '', signature = ''] = good.split('.');
  const prefixes = [
    '',
    'svc-worker-v0',
    'svc-worker-v2',
    'SVC-WORKER-V1',
    'svc-worker-v1 ',
    ' svc-worker-v1',
    'Bearer svc-worker-v1',
  ];
  const signatures = [
    '',
    'A'.repeat(43),
    `${signature}=`,
    Buffer.from(signature, 'base64url').toString('hex'),
    signature.toLowerCase(),
    `${signature}A`,
  ];
  return [
    ...prefixes.map((other) => ({ how: `prefix ${other}`, token: `${other}.${body}.${signature}` })),
    ...signatures.map((other) => ({ how: `signature ${other}`, token: `${prefix}.${body}.${other}` })),
    ...['\n', ' ', '\0', '=', '.', ',', '\t'].flatMap((letter) => [
      { how: 'a letter behind', token: good + letter },
      { how: 'a letter before', token: letter + good },
      { how: 'padded', token: `${prefix}.${body}${letter}.${signature}` },
    ]),
    { how: 'parts swapped', token: `${prefix}.${signature}.${body}` },
    { how: 'unsigned', token: `${prefix}.${body}` },
  ];
}

/** Signed with the right secret, so that the payload alone is at fault. */
function wrongFields({ payload, secret, now }: Genuine): Forgery[] {
  const strange = [null, true, -1, 1.5, '', 'x'.repeat(129), [], {}, [1], '0', 1e300, '\n', { $ne: 1 }];
  const fields = Object.keys(payload) as (keyof WorkerTokenPayload)[];
  const wrong = [...fields, 'nbf'].flatMap((name) =>
    strange
      .filter((value) => !isLegal(name, value))
      .map((value) => ({ how: `${name} is ${JSON.stringify(value)}`, over: { [name]: value } })),
  );
  const absent = fields.map((name) => ({ how: `${name} is absent`, over: { [name]: undefined } }));
  const seconds = Math.floor(now / 1000);
  const times = [
    ...[0, 1, 60, 3600, 86_400].map((age) => ({ iat: seconds - age - 300, exp: seconds - age })),
    ...[31, 60, 3600].map((ahead) => ({ iat: seconds + ahead, exp: seconds + ahead + 300 })),
    ...[901, 3600, 1e9].map((life) => ({ exp: payload.iat + life })),
    ...[31, 299].map((ahead) => ({ nbf: seconds + ahead })),
  ].map((over) => ({ how: `times ${JSON.stringify(over)}`, over }));
  const others = ['w2', 'W1', 'w1.', 'local', 'w1 '].map((worker_id) => ({
    how: `worker ${worker_id}`,
    over: { worker_id },
  }));
  const extra = ['alg', 'kid', 'admin', '__proto__', 'sub'].map((name) => ({
    how: `with ${name}`,
    over: { [name]: 'none' },
  }));
  const audience = {
    how: 'the other audience',
    over: { aud: payload.aud === 'worker:rpc' ? 'worker:control-plane' : 'worker:rpc' },
  };
  return [...wrong, ...absent, ...times, ...others, ...extra, audience].map(({ how, over }) => ({
    how,
    token: mintWorkerToken(secret, Object.assign(Object.create(null), payload, over)),
  }));
}

/** What is strange for most fields is right for some: an empty list of scopes, `0` as a name. */
function isLegal(name: string, value: unknown): boolean {
  if (name === 'scopes') return Array.isArray(value) && value.length === 0;
  return (name === 'jti' && value === '0') || (name === 'jti' && value === 'x');
}

function wrongKeys({ good, payload, secret }: Genuine): Forgery[] {
  const [prefix = '', body = ''] = good.split('.');
  const signed = `${prefix}.${body}`;
  const keys = [
    '',
    'secret',
    `${secret} `,
    secret.toUpperCase(),
    secret.slice(1),
    [...secret].reverse().join(''),
    `worker:${payload.worker_id}`,
  ];
  const algorithms = ['sha1', 'sha512', 'md5', 'sha224', 'sha384'].map((algorithm) => ({
    how: algorithm,
    token: `${signed}.${createHmac(algorithm, secret).update(signed).digest('base64url')}`,
  }));
  const texts = [body, `${signed}.`, prefix, JSON.stringify(payload)].map((text) => ({
    how: `signature over ${text.slice(0, 12)}`,
    token: `${signed}.${createHmac('sha256', secret).update(text).digest('base64url')}`,
  }));
  return [
    ...keys.map((key) => ({ how: `key ${key}`, token: mintWorkerToken(key, payload) })),
    ...algorithms,
    ...texts,
  ];
}
