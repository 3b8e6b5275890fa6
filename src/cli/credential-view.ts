// Credentials as text for people, and the argument of their commands.
import { Args } from '@oclif/core';
import type { Credential } from '../schema/credential.ts';
import { facts, tableOf } from './render.ts';

export const credentialArg = {
  name: Args.string({ description: 'Name of the credential.', required: true }),
};

const ownersOf = ({ owners = [] }: Credential) => (owners.length === 0 ? 'nobody' : owners.join(' '));
/** Servers of earlier versions do not say it, and have stored ones alone. */
const sourceOf = ({ source }: Credential) => source ?? 'stored';
const stateOf = ({ usable }: Credential) => (usable ? 'ready' : 'unusable: set it again');

export const credentialTable = tableOf<Credential>(
  [
    { title: 'name', value: ({ name }) => name },
    { title: 'hosts', value: ({ hosts }) => hosts.join(' ') },
    { title: 'header', value: ({ header = 'authorization' }) => header },
    { title: 'owners', value: ownersOf },
    { title: 'source', value: sourceOf },
    { title: 'state', value: stateOf },
    { title: 'updated', value: ({ updated_at }) => updated_at },
  ],
  'No credentials.',
);

export function credentialFacts(credential: Credential): string {
  return facts([
    ['name', credential.name],
    ['hosts', credential.hosts],
    ['header', credential.header ?? 'authorization'],
    ['methods', credential.methods ?? []],
    ['paths', credential.path_prefixes ?? []],
    ['variable', credential.env],
    ['owners', ownersOf(credential)],
    ['source', sourceOf(credential)],
    ['state', stateOf(credential)],
    ['endpoint', `http://${credential.name}.svc.internal`],
  ]);
}
