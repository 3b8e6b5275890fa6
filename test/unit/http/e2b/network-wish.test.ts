// Wishes about the network in E2B's words, and what becomes of them.
import { expect, it } from 'vitest';
import { portNotes, portWish } from '../../../../src/domain/port-terms.ts';
import { changedPolicy, networkOf, portsOf } from '../../../../src/http/e2b/network-wish.ts';
import { fieldsOf } from '../../../../src/http/e2b/read-body.ts';

const all = '0.0.0.0/0';
const spawned = (body: object, usual: 'default' | 'none' | 'public' = 'default') =>
  networkOf(fieldsOf(body), usual);

it('disconnects a sandbox that may reach nothing', () => {
  expect(spawned({ allow_internet_access: false })).toEqual({ network: 'none' });
  expect(spawned({ network: { denyOut: [all] } })).toEqual({ network: 'none' });
  expect(spawned({}, 'none')).toEqual({ network: 'none' });
});

it('gives the usual network to those without a wish', () => {
  for (const body of [
    {},
    { allow_internet_access: true },
    { network: {} },
    { network: { allowOut: [all] } },
  ]) {
    expect(spawned(body)).toEqual({});
    expect(spawned(body, 'public')).toEqual({ egress: { default: 'allow' } });
  }
});

it('makes a policy of rules', () => {
  expect(spawned({ network: { allowOut: ['pypi.org', '*.x.org', '1.1.1.1'], denyOut: [all] } })).toEqual({
    egress: { default: 'deny', allow: ['pypi.org:*', '*.x.org:*', '1.1.1.1:*'] },
  });
  expect(spawned({ network: { denyOut: ['8.8.8.0/24'] } })).toEqual({
    egress: { default: 'allow', deny: ['8.8.8.0/24'] },
  });
  expect(changedPolicy(fieldsOf({}))).toEqual({ default: 'allow' });
  expect(changedPolicy(fieldsOf({ allow_internet_access: false }))).toEqual({ default: 'deny' });
});

it('refuses rules that would mean something else here', () => {
  for (const network of [
    { allowOut: ['8.8.8.8'], denyOut: ['8.8.8.0/24'] },
    { allowOut: ['8.8.0.0/16'], denyOut: ['8.8.8.0/24'] },
    { allowOut: ['pypi.org'] },
    { denyOut: ['pypi.org'] },
    { denyOut: [7] },
  ])
    expect(() => spawned({ network })).toThrow();
  expect(() => changedPolicy(fieldsOf({ rules: { 'x.org': [] } }))).toThrow('rules');
});

it('keeps what is wished of ports with the sandbox', () => {
  const kept = (network: object) => portWish(portNotes(portsOf(fieldsOf({ network }))));
  expect(kept({})).toEqual({ isPrivate: false, host: undefined, https: [] });
  const maskRequestHost = ['x.test:$', '{PORT}'].join('');
  expect(kept({ allowPublicTraffic: false, maskRequestHost, httpsPorts: [8443, 1] })).toEqual({
    ...{ isPrivate: true, host: maskRequestHost, https: [8443, 1] },
  });
  for (const network of [{ maskRequestHost: 'a\r\nb: c' }, { httpsPorts: [0] }, { httpsPorts: ['a'] }])
    expect(() => kept(network)).toThrow('network.');
});
