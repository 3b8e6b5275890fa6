// Seals secrets before they are stored (AES-256-GCM), so that a copy of the database alone shows none of them.
import { createCipheriv, createDecipheriv, createHash, hkdfSync } from 'node:crypto';
import { ServiceError } from './errors.ts';
import type { Random } from './ports.ts';

const CIPHER = 'aes-256-gcm';
const [IV_BYTES, TAG_BYTES] = [12, 16];
const VERSION = 'v1';

export interface Seal {
  /** Text that only `open` with the same key and purpose can read. Each call has another result. */
  seal(text: string, purpose: string): string;
  /** Throws `conflict` for text that another key sealed, `internal` for text that was changed or has another purpose. */
  open(sealed: string, purpose: string): string;
}

/** Texts that seal under `secret`, of any length; at least 32 random characters are safe. */
export function sealWith(secret: string, random: Random): Seal {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'svc sealed secrets', 32));
  const id = createHash('sha256').update(key).digest('hex').slice(0, 8);
  return {
    seal: (text, purpose) => {
      const iv = random.bytes(IV_BYTES);
      const cipher = createCipheriv(CIPHER, key, iv).setAAD(Buffer.from(purpose));
      const sealed = Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return [VERSION, id, sealed.toString('base64url')].join('.');
    },
    open: (sealed, purpose) => {
      const [version, by, text = ''] = sealed.split('.');
      if (version !== VERSION || by !== id) throw otherKey();
      return opened(key, Buffer.from(text, 'base64url'), purpose);
    },
  };
}

function opened(key: Buffer, bytes: Buffer, purpose: string): string {
  try {
    const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(purpose)).setAuthTag(bytes.subarray(-TAG_BYTES));
    const text = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES));
    return Buffer.concat([text, decipher.final()]).toString('utf8');
  } catch (cause) {
    throw new ServiceError('internal', 'A stored secret was changed.', {
      cause,
      remedy: 'Set the secret again.',
    });
  }
}

const otherKey = () =>
  new ServiceError('conflict', 'A stored secret was sealed with another key.', {
    remedy: 'Restore the key (secrets.key_file), or set the secret again.',
  });
