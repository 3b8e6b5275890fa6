// The thread that writes the database of a server: what it needs of the machine, and nothing else of the program.
import { parentPort } from 'node:worker_threads';
import { realClock } from '../host/clock.ts';
import { realRandom } from '../host/random.ts';
import { serveWriter } from '../store/sqlite/thread-writer.ts';

if (parentPort) serveWriter(parentPort, { clock: realClock(), random: realRandom() });
