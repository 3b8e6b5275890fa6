// What lets the server, and nobody else, open a session with the agent of one sandbox (agent/PROTOCOL.md, Opening).
import { createHmac } from 'node:crypto';

const SECRET_BYTES = 16;

/**
 * 16 bytes, none of them zero: zeros are how the agent finds where a secret begins. HMAC-SHA-256 of `id:epoch` under
 * the instance's key (hex). Pure, so that a restarted server finds it again; it differs for each attempt at a sandbox.
 */
export function agentSecret(instanceKey: string, id: string, epoch: number): Buffer {
  const digest = createHmac('sha256', Buffer.from(instanceKey, 'hex')).update(`${id}:${epoch}`).digest();
  const secret = digest.subarray(0, SECRET_BYTES);
  // 255 values are left for a byte: the second half of the digest chooses where a zero would be.
  return Buffer.from(secret.map((byte, index) => byte || ((digest[SECRET_BYTES + index] ?? 0) % 255) + 1));
}
