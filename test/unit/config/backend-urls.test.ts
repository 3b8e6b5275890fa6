// What is said of an address of a backend that carries credentials.
import { expect, it } from 'vitest';
import { mismatches } from '../../../src/config/validate.ts';
import { testConfig } from '../../support/config.ts';

it.each(['custom', 'hosted'] as const)(
  'gives the reason for refusing a base_url of %s with credentials',
  (kind) => {
    const config = testConfig();
    const said = (base_url: string) => {
      const providers = { ...config.providers, [kind]: { ...config.providers[kind], base_url } };
      return mismatches({ ...config, providers }).map(({ words }) => words);
    };
    expect(said('https://user:hunter2@sandboxes.internal/v1')).toEqual([
      expect.stringMatching(/base_url must not carry a user name or password.*api_key/),
    ]);
    expect(said('https://user:hunter2@sandboxes.internal/v1').join()).not.toContain('hunter2');
    expect(said('https://sandboxes.internal?x')).not.toEqual([expect.stringContaining('password')]);
    expect(said('https://sandboxes.internal/v1')).toEqual([]);
  },
);
