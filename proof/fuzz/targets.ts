// Everything that is fuzzed, by the name that `--only` takes.
import { agent, names, parser } from './agent.ts';
import type { Target } from './campaign.ts';
import { config } from './config.ts';
import { formats } from './formats.ts';
import { frames } from './frames.ts';
import { guest } from './guest.ts';
import { readers } from './readers.ts';
import { routes } from './routes.ts';
import { sessions } from './sessions.ts';
import { wire } from './wire.ts';

export const TARGETS = {
  routes,
  wire,
  formats,
  frames,
  readers,
  agent,
  parser,
  names,
  config,
  guest,
  sessions,
} satisfies Record<string, Target>;
export type TargetName = keyof typeof TARGETS;
