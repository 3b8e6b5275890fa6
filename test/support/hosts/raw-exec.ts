// The arguments of an exec as bytes of the agent's protocol, for tests that speak it by themselves.
import { KIND } from '../../../src/agent/protocol.ts';
import { WireWriter } from '../../../src/agent/wire.ts';

/** Runs `argv` attached, with this process's PATH. */
export function rawExec(argv: readonly string[]): Buffer {
  const out = new WireWriter().u8(KIND.exec).u32(4).str('ex-raw').str('').u32(0).u16(0).u16(0).str('raw');
  out.u32(argv.length);
  for (const word of argv) out.str(word);
  return out
    .u32(1)
    .str(`PATH=${process.env.PATH ?? ''}`)
    .bytes();
}
