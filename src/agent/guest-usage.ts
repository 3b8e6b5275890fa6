// What a sandbox says of itself (`usage` in agent/PROTOCOL.md). Its length is bounded here: the guest can forge the answer.
import { AgentFault } from './fault.ts';
import type { GuestFacts } from './guest-facts.ts';
import type { Requests } from './requests.ts';
import type { WireReader } from './wire.ts';

const CALL_MS = 2000;
const KNOWS = { memory: 1, processes: 2, network: 4 };
const MOST_DISKS = 3;
const MOUNTS = ['/', '/workspace', '/tmp'];

export function guestUsage(requests: Requests, signal?: AbortSignal): Promise<GuestFacts> {
  return requests.call('usage', readUsage, { deadlineMs: CALL_MS, signal });
}

function readUsage(reader: WireReader): GuestFacts {
  const known = reader.u32();
  const [memory_bytes, memory_total_bytes] = [reader.u64(), reader.u64()];
  const processes = reader.u32();
  const [rx_bytes, tx_bytes] = [reader.u64(), reader.u64()];
  const count = reader.u32();
  if (count > MOST_DISKS) throw new AgentFault('more file systems than asked for');
  const disks = Array.from({ length: count }, () => diskOf(reader));
  return {
    ...((known & KNOWS.memory) !== 0 && { memory_bytes, memory_total_bytes }),
    ...((known & KNOWS.processes) !== 0 && { processes }),
    ...((known & KNOWS.network) !== 0 && { rx_bytes, tx_bytes }),
    disks,
  };
}

function diskOf(reader: WireReader): GuestFacts['disks'][number] {
  const path = reader.str();
  if (!MOUNTS.includes(path)) throw new AgentFault('a file system that was not asked for');
  return { path, used_bytes: reader.u64(), total_bytes: reader.u64() };
}
