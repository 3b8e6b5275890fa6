// The numbers of the agent's protocol are the same in both languages: src/agent/protocol.ts and agent/src.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as protocol from '../../src/agent/protocol.ts';
import { packageRoot } from '../../src/host/package-root.ts';

const folder = join(packageRoot(), 'agent/src');
const source = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.[ch]$/.test(name))
  .map((name) => readFileSync(join(folder, name), 'utf8'))
  .join('\n');

/** The value of `#define NAME number`, where the number may be a product. */
function defined(name: string): number {
  const [, value = ''] = new RegExp(`^#define ${name} \\(?([0-9a-fx* ]+)`, 'm').exec(source) ?? [];
  return value.split('*').reduce((product, factor) => product * Number(factor), 1);
}

/** The numbers of all `NAME = number` of an enum, by name without its prefix. */
function enumerated(name: string, prefix: string): Record<string, number> {
  const [, body = ''] = new RegExp(`enum ${name} \\{([^}]*)\\}`).exec(source) ?? [];
  const members = body.matchAll(new RegExp(`${prefix}([A-Z]+) = (\\d+)`, 'g'));
  return Object.fromEntries([...members].map(([, member = '', value]) => [member, Number(value)]));
}

/** The numbers that a table of kinds gives them, by name. */
function numbered(table: string): Record<string, number> {
  const [, body = ''] = new RegExp(`stream_kind \\*const ${table}\\[\\] = \\{([^}]*)\\}`).exec(source) ?? [];
  const entries = body.matchAll(/\[(\d+)\] = &(?:file_)?([a-z]+)_kind/g);
  return Object.fromEntries([...entries].map(([, value, kind = '']) => [kind, Number(value)]));
}

describe('the agent and the server agree on', () => {
  it.each([
    ['PROTOCOL_VERSION', protocol.PROTOCOL_VERSION],
    ['FRAME_MIN', protocol.FRAME_MIN],
    ['FRAME_MAX', protocol.FRAME_MAX],
    ['DATA_MAX', protocol.DATA_MAX],
    ['FIRST_CREDIT', protocol.FIRST_CREDIT],
    ['SECRET_SIZE', protocol.SECRET_BYTES],
    ['NONCE_SIZE', protocol.NONCE_BYTES],
    ['ARGUMENTS_MAX', protocol.ARGUMENTS_MAX],
    ['STREAMS_MAX', protocol.STREAMS_MAX],
    ['CALLS_MAX', protocol.CALLS_MAX],
    ['ACCEPTS_MAX', protocol.ACCEPTS_MAX],
    ['CAPABLE_DEADLINES', protocol.CAPABILITY.deadlines],
    ['CAPABLE_GATE', protocol.CAPABILITY.gate],
    ['CAPABLE_ARCHIVES', protocol.CAPABILITY.archives],
    ['CAPABLE_TRUST', protocol.CAPABILITY.trust],
    ['CAPABLE_USAGE', protocol.CAPABILITY.usage],
    ['CAPABLE_KEEP', protocol.CAPABILITY.keep],
    ['FOR_USER', protocol.FOR_USER],
    ['EXEC_PTY', protocol.EXEC_FLAG.pty],
    ['EXEC_DETACH', protocol.EXEC_FLAG.detach],
    ['EXEC_STDIN', protocol.EXEC_FLAG.stdin],
    ['EXEC_KEYED', protocol.EXEC_FLAG.keyed],
    ['EXEC_KEEP', protocol.EXEC_FLAG.keep],
  ])('%s', (name, value) => {
    expect(defined(name)).toBe(value);
  });

  it('the types of frames', () => {
    expect(enumerated('frame_type', 'FRAME_')).toEqual(protocol.TYPE);
  });

  it('the kinds of streams and the methods of calls', () => {
    expect(numbered('opens')).toEqual(protocol.KIND);
    expect(numbered('calls')).toEqual(protocol.METHOD);
  });
});
