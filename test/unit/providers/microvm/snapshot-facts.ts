// What a snapshot of these tests was made of.
import type { SnapshotFacts } from '../../../../src/providers/microvm/snapshot.ts';

export const SNAPSHOT_FACTS: SnapshotFacts = {
  image: 'debian',
  image_identity: '/images/debian 1 2 3',
  kernel: '6.1.0',
  kernel_digest: 'aa',
  initramfs_digest: 'bb',
  monitor: '7.2.22',
  accelerator: 'emulation',
  boot_id: 'cc',
  memory_mb: 256,
  vcpus: 1,
  network: 'none',
  role: 'sandbox',
  overlay_mb: 64,
};
