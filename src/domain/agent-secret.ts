// The secret with which only the server can open a session with a sandbox's agent (agent/PROTOCOL.md, Opening).
import { createHmac } from 'node:crypto';

const SECRET_BYTES = 16;

/**
 * 16 bytes without zeros, because the agent finds the start of a secret by zeros. HMAC-SHA-256 of `id:epoch` under the
 * instance's key (hex). Pure, so that a restarted server derives it again; it differs for each attempt at a sandbox.
 */
export function agentSecret(instanceKey: string, id: string, epoch: number): Buffer {
  const digest = createHmac('sha256', Buffer.from(instanceKey, 'hex')).update(`${id}:${epoch}`).digest();
  const secret = digest.subarray(0, SECRET_BYTES);
  // A byte has 255 values left; the second half of the digest replaces zeros.
  return Buffer.from(secret.map((byte, index) => byte || ((digest[SECRET_BYTES + index] ?? 0) % 255) + 1));
}
