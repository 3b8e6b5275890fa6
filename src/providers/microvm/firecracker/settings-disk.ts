// The agent's settings as a disk that it reads and then removes from the guest. (agent/src/vm/vm-drive.c)
import { open } from 'node:fs/promises';
import { encodeSettings } from '../../local/settings.ts';
import { unwritable } from '../record.ts';
import { AGENT_PORT } from './requests.ts';

const HEAD = 'svc-settings-v1\n';
const SECTOR = 512;

/** Firecracker gives disks serial numbers of its own: the agent tells them apart by what can be written. */
const ABOUT_MONITOR = encodeSettings([
  ['unnamed_disks', '1'],
  ['vsock_port', `${AGENT_PORT}`],
]);

/** Rounded up to sectors: the guest would not see bytes behind the last full one. */
export function settingsDisk(settings: Buffer): Buffer {
  const content = Buffer.concat([settings, ABOUT_MONITOR]);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(content.length);
  const bytes = Buffer.concat([Buffer.from(HEAD), length, content]);
  return Buffer.concat([bytes, Buffer.alloc(-bytes.length & (SECTOR - 1))]);
}

/** In place, since the monitor keeps the file open: a guest that brings the disk back finds zeros. */
export async function emptySettingsDisk(path: string): Promise<void> {
  try {
    const file = await open(path, 'r+');
    try {
      const { size } = await file.stat();
      await file.write(Buffer.alloc(size), 0, size, 0);
    } finally {
      await file.close();
    }
  } catch (cause) {
    throw unwritable(cause);
  }
}
