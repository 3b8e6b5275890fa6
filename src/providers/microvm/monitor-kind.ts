// THE SEAM OF MONITORS: what differs between the programs that run virtual machines. Everything else here is told a
// MonitorKind and knows neither by name.
import type { Socket } from 'node:net';
import type { Clock } from '../../domain/ports.ts';
import type { Detached } from '../../host/host.ts';
import type { MonitorPlan } from './monitor-plan.ts';

export interface Trial {
  monitor: { path: string; version: string };
  kernel: string;
  initramfs: string;
  /** Keeps the verdict for an hour of this boot of the machine, this monitor and this kernel. */
  memoFile: string;
}

export interface MonitorKind {
  /** As people say it. */
  title: string;
  /** Found in PATH, and how to get it. */
  program: string;
  remedy: string;
  /** What `--version` says: its first group is the version. */
  version: RegExp;
  /** Modules that a guest needs. */
  modules: readonly string[];
  /** Without KVM it runs guests all the same, slowly. */
  emulates: boolean;
  /** It saves guests, and goes on from saved ones. */
  restores: boolean;
  /** The most processors that it gives; undefined: as many as there are. */
  mostVcpus?: number;
  /** Throws `unavailable` for a host or a configuration that it cannot serve. */
  refuse(about: { uid: number; network: string; version: string }): void;
  /** Arguments of one that boots a guest without an image: with KVM that works it ends by itself, with 0. */
  trialArguments(trial: Trial, folder: string): Promise<string[]>;
  /** Arguments of one that runs `plan`. It is told the rest by `ready`, if there is any. */
  arguments(plan: MonitorPlan): string[];
  /** What the settings file of a plan holds for these settings of the agent. */
  settingsFile(settings: Buffer): Buffer;
  /**
   * Resolves when the guest's agent has opened its port. Throws `provider_error` when the guest or its monitor ended or
   * refused instead, `unavailable` when the monitor does not answer, the signal's reason on abort.
   */
  ready(clock: Clock, started: { process: Detached; plan: MonitorPlan }, signal: AbortSignal): Promise<void>;
  /** A connection to the agent's port, nothing said on it. Throws `unavailable`, or the signal's reason. */
  openAgent(clock: Clock, path: string, signal: AbortSignal): Promise<Socket>;
}
