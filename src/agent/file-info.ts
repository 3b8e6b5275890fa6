// The `info` record of the agent as FileInfo.
import { posix } from 'node:path';
import type { FileInfo } from '../schema/file.ts';
import { AgentFault } from './fault.ts';
import { stamp } from './stamp.ts';
import type { WireReader } from './wire.ts';

const TYPES = [undefined, 'file', 'dir', 'symlink', 'other'] as const;

/** Throws ShortRead when the record is not all there, AgentFault when it is nonsense. */
export function readFileInfo(reader: WireReader): FileInfo {
  const path = reader.str();
  const type = TYPES[reader.u8()];
  const mode = reader.u32();
  const size = reader.u64();
  const mod_time = stamp(reader.i64());
  const target = reader.str();
  if (!type || mode > 0o7777) throw new AgentFault('absurd file record');
  return {
    path,
    name: posix.basename(path) || path,
    size,
    mode: mode.toString(8).padStart(3, '0'),
    is_dir: type === 'dir',
    type,
    mod_time,
    ...(type === 'symlink' && { symlink_target: target }),
  };
}
