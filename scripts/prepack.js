// Before `npm pack`: everything built, and the guest agent for each processor, so that an installation needs no
// compiler. Writes nothing to standard output, which npm uses.
import { bootstrap, root } from './bootstrap.js';
import { buildAgent } from './build-agent.js';

await bootstrap();
for (const architecture of /** @type {const} */ (['x64', 'arm64'])) buildAgent(root, architecture);
