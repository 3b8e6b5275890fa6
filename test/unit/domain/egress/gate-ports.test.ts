// Which ports a transparent gate opens.
import { expect, it } from 'vitest';
import { gatePorts } from '../../../../src/domain/egress/gate-ports.ts';
import { egressLayer, serverLayer } from '../../../../src/domain/egress/layers.ts';
import type { EgressConfig } from '../../../../src/schema/config-egress.ts';

const server = serverLayer({
  allow: [],
  deny: [],
  groups: {},
  allow_wide_rules: false,
} as unknown as EgressConfig);
const spawn = (allow: string[]) => [server, egressLayer('spawn', { allow }, {})];

it.each([
  [['api.example.com'], [undefined], [80, 443], false],
  [
    ['api.example.com:5432', 'db.example.com:8000-8002'],
    [undefined],
    [80, 443, 5432, 8000, 8001, 8002],
    false,
  ],
  [['api.example.com:22'], [[8080]], [22, 8080], false],
  [['*:*'], [undefined], [80, 443], true],
  [['*:*'], [[53, 80], undefined], [53, 80], true],
])('%j with the ports %j opens %j', (allow, named, ports, isCut) => {
  expect(gatePorts(spawn(allow as string[]), named)).toEqual({ ports, isCut });
});

it('opens 64 at most, those of the spawn first', () => {
  const template = egressLayer('template', { allow: ['a.example.com:1000-1063'] }, {});
  const { ports, isCut } = gatePorts([server, template, ...spawn(['b.example.com:22'])], [undefined]);
  expect([ports.length, ports.slice(0, 3), isCut]).toEqual([64, [22, 80, 443], true]);
});
