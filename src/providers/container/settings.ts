// What an agent reads from standard input before anything else (agent/src/main.c, --settings-fd): never an argument or
// a variable, which the sandbox could read.
const MEBIBYTE = 1024 * 1024;
const MAX_RING = 8 * MEBIBYTE;

/** 16 bytes of secret and the bytes for kept output: a sixteenth of the memory, at most 8 MiB. */
export function agentSettings(secret: Buffer, memoryMb: number): Buffer {
  const ring = Buffer.alloc(8);
  ring.writeBigUInt64LE(BigInt(Math.min(MAX_RING, Math.floor((memoryMb * MEBIBYTE) / 16))));
  return Buffer.concat([secret, ring]);
}
