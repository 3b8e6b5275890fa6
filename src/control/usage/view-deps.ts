// What the views of use are made of.
import type { Clock } from '../../domain/ports.ts';
import type { UsageStore } from '../../store/seam/usage.ts';
import type { SandboxStore } from '../../store/store.ts';
import type { Settings } from '../records/settings.ts';
import type { Guests } from './guests.ts';
import type { Sampler } from './sampler.ts';

export interface UsageViewDeps {
  usage: UsageStore;
  sandboxes: Pick<SandboxStore, 'get'>;
  sampler: Sampler;
  guests: Pick<Guests, 'of'>;
  settings: Pick<Settings, 'enforce_owner'>;
  isMeasuring: boolean;
  host: { cpus: number };
  clock: Clock;
}
