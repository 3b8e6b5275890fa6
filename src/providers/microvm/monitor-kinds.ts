// The monitors there are, by their names in the configuration.
import type { MicrovmConfig } from '../../schema/config-microvm.ts';
import { FIRECRACKER } from './firecracker/firecracker.ts';
import type { MonitorKind } from './monitor-kind.ts';
import { QEMU } from './qemu.ts';

export function monitorKind({ monitor }: Pick<MicrovmConfig, 'monitor'>): MonitorKind {
  return monitor === 'firecracker' ? FIRECRACKER : QEMU;
}
