// The `info` record of the agent as FileInfo.
import { posix } from 'node:path';
import type { FileInfo } from '../schema/file.ts';
import { AgentFault } from './fault.ts';
import type { FileFacts } from './io.ts';
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

/** More would not fit what the agent may say of one file. */
const ATTRIBUTES_MAX = 8192;

/** The record with what follows it where a prefix was asked for. Throws as `readFileInfo` does. */
export function readFileFacts(reader: WireReader): FileFacts {
  const info = readFileInfo(reader);
  const [uid, gid, count] = [reader.u32(), reader.u32(), reader.u32()];
  if (count > ATTRIBUTES_MAX) throw new AgentFault('absurd file record');
  const entries = Array.from({ length: count }, () => [reader.str(), reader.str()]);
  return { ...info, uid, gid, attributes: Object.fromEntries(entries) as Record<string, string> };
}
