// `npm run soak`: thousands of sandboxes spawned, used and destroyed by one server, with faults between them when asked,
// and at the end it must be as large as it was after its first hundreds.

import { withContainers } from './container-world.ts';
import { withHome } from './folders.ts';
import { INSPECTED } from './live-heap.ts';
import { withServer } from './server.ts';
import { live, type Soaked, tidy } from './soak-load.ts';
import { type Growth, grown, growth, type SoakSample, sample } from './soak-sample.ts';

export interface SoakOptions {
  provider: 'userspace' | 'container';
  /** Lives of sandboxes; with `minutes` as many as there is time for. */
  cycles: number;
  minutes?: number;
  /** Clients that leave or stop reading, runtimes that are killed, a server and an engine that are held. */
  faults?: boolean;
  /** Called with each sample. */
  onSample?: (sample: SoakSample) => void;
}

export interface SoakReport extends Growth {
  provider: SoakOptions['provider'];
  faults: boolean;
  cycles: number;
  seconds: number;
  samples: SoakSample[];
  /** Lives that ended otherwise than they may, the first words of each. */
  failed: string[];
  /** Measures that are larger than noise explains. */
  grown: string[];
  pass: boolean;
}

const ENV = { NODE_OPTIONS: INSPECTED };
const SAMPLES = 10;
const AT_ONCE = 4;
const MOST_FAILED = 20;

export async function soak(root: string, options: SoakOptions): Promise<SoakReport> {
  const env = { SVC_DEFAULTS_MAX_SANDBOXES: '0', ...ENV };
  if (options.provider === 'userspace')
    return withHome((home) => withServer(root, { home, env }, (server) => cycle(server, options, [])));
  let report: SoakReport | undefined;
  const work = async (world: Soaked & { live: string }) => {
    report = await cycle(world, options, [world.live]);
  };
  await withContainers(root, work, ENV);
  if (!report) throw new Error('the soak gave no report');
  return report;
}

/** `kept`: sandboxes that are not the soak's to destroy. */
async function cycle(soaked: Soaked, options: SoakOptions, kept: readonly string[]): Promise<SoakReport> {
  const { provider, cycles, minutes, faults = false, onSample } = options;
  const began = performance.now();
  const [samples, failed]: [SoakSample[], string[]] = [[], []];
  const part = {
    ms: ((minutes ?? 0) * 60_000) / SAMPLES,
    cycles: Math.max(AT_ONCE, Math.floor(cycles / SAMPLES)),
  };
  let done = 0;
  const isOver = () => (minutes === undefined ? done >= cycles : samples.length >= SAMPLES);
  while (!isOver() && failed.length < MOST_FAILED) {
    const until = began + (samples.length + 1) * part.ms;
    const most = minutes === undefined ? Math.min(cycles, done + part.cycles) : Number.POSITIVE_INFINITY;
    const worker = async () => {
      while (done < most && (minutes === undefined || performance.now() < until))
        await live(soaked, done++, faults).catch((error) => failed.push(String(error).slice(0, 300)));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    await tidy(soaked, kept);
    const taken = await sample(soaked, done);
    samples.push(taken);
    onSample?.(taken);
  }
  const seconds = (performance.now() - began) / 1000;
  const more = growth(samples);
  const measures = grown(more);
  const pass = measures.length === 0 && failed.length === 0;
  return { provider, faults, cycles: done, seconds, samples, failed, ...more, grown: measures, pass };
}
