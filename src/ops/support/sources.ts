// What the sections of a bundle are collected from.

import type { Client } from '../../client/client.ts';
import type { ConfigReading } from '../../config/load.ts';
import type { Clock } from '../../domain/ports.ts';
import type { Host } from '../../host/host.ts';
import type { SectionId } from '../../schema/bundle.ts';
import type { DoctorReport } from '../../schema/doctor.ts';

export interface BundleSources {
  clock: Clock;
  host: Host;
  programVersion: string;
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  /** The configuration, as far as it can be read. */
  reading: ConfigReading;
  /** Examines this machine; absent when it is not wanted. */
  doctor?: (() => Promise<DoctorReport>) | undefined;
  /** The server to ask; absent when it is not wanted. */
  client?: Client | undefined;
}

export interface Section {
  id: SectionId;
  title: string;
  /** Why it is not collected; undefined when it is. */
  skipped(sources: BundleSources): string | undefined;
  /** Facts fit for JSON, not yet redacted. What it throws is noted in the index. */
  collect(sources: BundleSources): Promise<unknown>;
}

export const always = () => undefined;
