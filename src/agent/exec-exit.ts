// How an exec ended, read from the agent.
import { AgentFault } from './fault.ts';
import type { ExecExit } from './io.ts';
import { signalName } from './signals.ts';
import type { WireReader } from './wire.ts';

/** RESULT of exec and attach. Throws AgentFault for numbers that no process can end with. */
export function readExit(reader: WireReader): ExecExit {
  const exit_code = reader.i32();
  const signal = reader.u32();
  const timed_out = reader.u8() !== 0;
  const duration_ms = Math.round(reader.u64() / 1000);
  if (!isExit(exit_code, signal)) throw new AgentFault(`exit ${exit_code}, signal ${signal}`);
  return { exit_code, timed_out, duration_ms, ...(signal > 0 && { signal: signalName(signal) }) };
}

/** -1 is "still running"; 64 the last signal of Linux. */
export function isExit(exit_code: number, signal: number): boolean {
  return exit_code >= -1 && exit_code <= 255 && signal <= 64;
}
