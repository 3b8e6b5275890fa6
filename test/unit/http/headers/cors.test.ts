// Cross-origin rules, decided from headers alone.
import { describe, expect, it } from 'vitest';
import { cors, isPreflight } from '../../../../src/http/headers/cors.ts';

const LISTED = 'https://app.example.com';
const preflight = (origin: string, host = 'svc.example.com') => ({
  origin,
  host,
  'access-control-request-method': 'POST',
});

describe('with a list of origins', () => {
  const rules = cors([LISTED, 'http://localhost:3000/']);

  it.each([LISTED, 'HTTPS://APP.example.com', 'http://localhost:3000'])(
    'echoes %s with Vary and without credentials',
    (origin) => {
      expect(rules.preflightHeaders(preflight(origin))).toMatchObject({
        'Access-Control-Allow-Origin': origin,
        Vary: 'Origin',
      });
      const headers = rules.answerHeaders({ origin });
      expect(headers).toMatchObject({ 'Access-Control-Allow-Origin': origin, Vary: 'Origin' });
      expect(headers?.['Access-Control-Expose-Headers']).toContain('X-Next-Cursor');
      expect(headers).not.toHaveProperty('Access-Control-Allow-Credentials');
    },
  );

  it.each([
    'https://evil.example.com',
    'null',
    'https://app.example.com.evil.com',
    'http://app.example.com',
    '',
    'x',
  ])('refuses %j', (origin) => {
    expect(() => rules.preflightHeaders(preflight(origin))).toThrow(
      expect.objectContaining({ code: 'forbidden', status: 403 }),
    );
    expect(rules.answerHeaders({ origin })).toEqual({ Vary: 'Origin' });
  });

  it('permits our own page without a CORS header', () => {
    expect(rules.preflightHeaders(preflight('https://svc.example.com'))).not.toHaveProperty(
      'Access-Control-Allow-Origin',
    );
  });
});

it('answers * with *, whatever the origin', () => {
  const rules = cors(['*', LISTED]);
  expect(rules.preflightHeaders(preflight('https://any.where'))['Access-Control-Allow-Origin']).toBe('*');
  expect(rules.answerHeaders({ origin: 'null' })).toMatchObject({ 'Access-Control-Allow-Origin': '*' });
});

it('sends no header by default', () => {
  expect(cors([]).answerHeaders({ origin: LISTED })).toBeUndefined();
  expect(cors([]).answerHeaders({})).toBeUndefined();
});

it('tells a preflight from a plain OPTIONS request', () => {
  expect(isPreflight('OPTIONS', preflight('x'))).toBe(true);
  expect(isPreflight('OPTIONS', { origin: 'x' })).toBe(false);
  expect(isPreflight('GET', preflight('x'))).toBe(false);
});
