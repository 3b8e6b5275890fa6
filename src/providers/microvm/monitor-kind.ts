// THE SEAM OF MONITORS: the differences between the programs that run virtual machines. All other code uses a MonitorKind and
// knows neither by name.
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
  /** The name for messages. */
  title: string;
  /** The program in PATH, and how to install it. */
  program: string;
  remedy: string;
  /** Matches the output of `--version`; its first group is the version. */
  version: RegExp;
  /** Modules that a guest needs. */
  modules: readonly string[];
  /** Runs guests without KVM, slowly. */
  emulates: boolean;
  /** Saves and restores guests. */
  restores: boolean;
  /** The most processors of a guest; undefined: no limit. */
  mostVcpus?: number;
  /** Throws `unavailable` for a host or a configuration that it cannot serve. */
  refuse(about: { uid: number; network: string; version: string }): void;
  /** Arguments that boot a guest without an image. When KVM works, it ends by itself with 0. */
  trialArguments(trial: Trial, folder: string): Promise<string[]>;
  /** Arguments that run `plan`. `ready` sends the rest, if any. */
  arguments(plan: MonitorPlan): string[];
  /** What the settings file of a plan holds for these settings of the agent. */
  settingsFile(settings: Buffer): Buffer;
  /**
   * Resolves when the guest's agent has opened its port. Throws `provider_error` when the guest or its monitor ended or
   * refused instead, `unavailable` when the monitor does not answer, the signal's reason on abort.
   */
  ready(clock: Clock, started: { process: Detached; plan: MonitorPlan }, signal: AbortSignal): Promise<void>;
  /** A fresh connection to the agent's port. Throws `unavailable`, or the signal's reason. */
  openAgent(clock: Clock, path: string, signal: AbortSignal): Promise<Socket>;
}
