// Before `npm pack`: everything built, and the guest agent for each processor, so that who installs needs no compiler
// for it. Says nothing on standard output, which is npm's.
import { bootstrap, root } from './bootstrap.js';
import { buildAgent } from './build-agent.js';

await bootstrap();
for (const architecture of ['x64', 'arm64']) buildAgent(root, architecture);
