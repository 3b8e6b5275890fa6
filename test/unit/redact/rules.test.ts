// A hint saves the time of a pattern and hides no secret from it: every match contains the hint of its rule.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { redactor } from '../../../src/redact/engine.ts';
import { HINTS, MASK, TEXT_RULES } from '../../../src/redact/rules.ts';

const WORD = 'Ab0_cD1-'.repeat(8);
const LETTERS = 'Ab0cD1xYz'.repeat(6);

/** One of each kind of each rule, with what of it stays. */
const SAMPLES: Record<string, readonly (readonly [text: string, masked: string])[]> = {
  'private-key': [['-----BEGIN EC PRIVATE KEY-----\nAbc\n-----END EC PRIVATE KEY-----', MASK]],
  jwt: [[`eyJ${WORD}.${WORD}.${WORD}`, MASK]],
  'url-credentials': [['s3://key:value@host', `s3://${MASK}@host`]],
  bearer: [
    ['Bearer abcdefgh', `Bearer ${MASK}`],
    ['BEARER\tabcdefgh', `BEARER\t${MASK}`],
  ],
  basic: [['basic dXNlcjpwYXNz', `basic ${MASK}`]],
  header: [
    ['AUTHORIZATION : abc def', `AUTHORIZATION : ${MASK}`],
    ['Cookie="abc def', `Cookie=${MASK}`],
  ],
  'vendor-key': [
    ...['sk-', 'glpat-', 'xoxa-', 'xoxs-', 'svcc_', 'dckr_pat_', 'ya29.', 'pypi-', 'AIza', 'SG.'].map(
      (start) => [start + WORD, MASK] as const,
    ),
    ...['sk_live_', 'rk_test_', 'pk_live_', 'ghp_', 'gho_', 'ghs_', 'ghu_', 'ghr_', 'github_pat_'].map(
      (start) => [start + LETTERS, MASK] as const,
    ),
    ...['npm_', 'e2b_', 'hf_'].map((start) => [start + LETTERS, MASK] as const),
    [`svc_${LETTERS.slice(0, 49)}`, MASK],
    [`svcs_${WORD.slice(0, 43)}`, MASK],
    ['ASIAABCDEFGHIJKLMNOP', MASK],
    ['AKIAABCDEFGHIJKLMNOP', MASK],
  ],
  assignment: [
    ...['api_key', 'Secret', 'token', 'password', 'passwd', 'PGPWD', 'passphrase', 'credential'].map(
      (name) => [`${name} = abc`, `${name} = ${MASK}`] as const,
    ),
    ['signing-key\\": \\"a b', `signing-key\\": ${MASK}`],
    ["credentials':'a b", `credentials':${MASK}`],
  ],
  option: [['--db-password\tabc', `--db-password\t${MASK}`]],
};

const bare = redactor({ secrets: [] });
const ALL = Object.entries(SAMPLES).flatMap(([id, samples]) =>
  samples.map((sample) => [id, ...sample] as const),
);

it('has a sample for each rule', () => {
  expect(Object.keys(SAMPLES).sort()).toEqual(TEXT_RULES.map(({ id }) => id).sort());
});

it.each(ALL)('masks %s alone and in a long text: %s', (_, text, masked) => {
  const long = 'harmless line\n'.repeat(1000);
  expect(bare.text(text)).toBe(masked);
  expect(bare.text(`${long}${text}\n${long}`)).toBe(`${long}${masked}\n${long}`);
});

it('finds the hint of a rule in everything that it matches', () => {
  const part = fc.oneof(
    fc.constantFrom(...ALL.map(([, text]) => text)),
    fc.constantFrom(...ALL.map(([, text]) => text)).map((text) => text.toLowerCase()),
    fc
      .tuple(fc.constantFrom(...ALL.map(([, text]) => text)), fc.nat(60))
      .map(([text, length]) => text.slice(0, length)),
    fc.constantFrom('=', ': "', '\\"', "'", ' ', '\n', '@', '.', '-', '_', '://', '--', WORD, '[redacted]'),
    fc.string({ maxLength: 6 }),
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
      const text = parts.join('');
      for (const { id, hint, pattern } of TEXT_RULES)
        for (const [match] of text.matchAll(pattern)) {
          expect([id, match, hint.test(match)]).toEqual([id, match, true]);
          expect([match, HINTS.some((any) => any.test(match))]).toEqual([match, true]);
        }
    }),
    { numRuns: 5000 },
  );
});
