// Which arguments of `config lint` are read without oclif, and that both readers then mean the same.
import { parse } from '@oclif/core/parser';
import { describe, expect, it } from 'vitest';
import ConfigLint from '../../../../commands/config/lint.ts';
import { lintArgs } from '../../../../src/cli/fast-path/main.ts';

const PLAIN: readonly string[][] = [
  [],
  ['--file', '/etc/svc/svc.yaml'],
  ['--file=a=b.yaml', '--production'],
  ['--strict', '--production', '--format', 'sarif'],
  ['--format=github'],
  ['--assume-env', 'SVC_AUTH_API_KEY', '--assume-env', 'auth.admin_api_key'],
  ['--baseline', 'known.json', '--file', 'a b'],
];

const NOT_PLAIN: readonly string[][] = [
  ['--help'],
  ['-h'],
  ['--json'],
  ['--write-baseline', 'known.json'],
  ['--file'],
  ['--file', ''],
  ['--file', '-x'],
  ['--file', 'a', '--file', 'b'],
  ['--format', 'xml'],
  ['--no-production'],
  ['--production=false'],
  ['--prod'],
  ['svc.yaml'],
  ['--', '--strict'],
  ['--'],
  ['--baseline='],
  ['--assume-env', ''],
];

describe('lintArgs', () => {
  it.each(PLAIN)('reads %j %j %j %j as oclif does', async (...words) => {
    const args = words.filter((word) => word !== undefined);
    const { flags } = await parse(args, { flags: ConfigLint.flags, strict: true });
    const { 'assume-env': assumed = [], 'write-baseline': _, ...rest } = flags;
    expect(lintArgs(args, {})).toEqual({ ...rest, assumed });
  });

  it.each(NOT_PLAIN)('leaves %j %j %j to oclif', (...words) => {
    const args = words.filter((word) => word !== undefined);
    expect(lintArgs(args, {})).toBeUndefined();
  });

  it('leaves everything to oclif where a variable changes its behaviour', () => {
    expect(lintArgs([], { SVC_CONTENT_TYPE: 'json' })).toBeUndefined();
    expect(lintArgs([], { DEBUG: '*' })).toBeUndefined();
  });
});
