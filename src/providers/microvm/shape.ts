// How large a virtual machine gets for what was asked.
import type { MicrovmConfig } from '../../schema/config-microvm.ts';
import type { RuntimeSpec } from '../provider.ts';
import type { MonitorKind } from './monitor-kind.ts';

/** Below it the kernel does not boot: it takes 53 MiB itself. */
const LEAST_MB = 96;

export interface Shape {
  memory_mb: number;
  vcpus: number;
  /** Every difference to what was asked. */
  warnings: readonly string[];
}

interface ShapeSource {
  config: Pick<MicrovmConfig, 'max_memory_mb' | 'max_vcpus'>;
  host: { cpus: number };
  monitor: Pick<MonitorKind, 'mostVcpus'>;
}

export function shapeFor({ config, host, monitor }: ShapeSource, spec: RuntimeSpec): Shape {
  const most = config.max_memory_mb || Number.POSITIVE_INFINITY;
  const memory_mb = Math.max(LEAST_MB, Math.min(most, spec.memory_mb));
  const mostVcpus = Math.min(config.max_vcpus || host.cpus, monitor.mostVcpus ?? Number.POSITIVE_INFINITY);
  const vcpus = Math.min(mostVcpus, spec.vcpus);
  return {
    memory_mb,
    vcpus,
    warnings: [
      ...(memory_mb === spec.memory_mb ? [] : [`Memory is ${memory_mb} MB instead of ${spec.memory_mb}.`]),
      ...(vcpus === spec.vcpus ? [] : [`There are ${vcpus} processors instead of ${spec.vcpus}.`]),
    ],
  };
}
