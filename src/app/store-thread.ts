// The program of the database writer thread. It loads only what the writer needs.
import { parentPort } from 'node:worker_threads';
import { realClock } from '../host/clock.ts';
import { realRandom } from '../host/random.ts';
import { serveWriter } from '../store/sqlite/thread-link.ts';

if (parentPort) serveWriter(parentPort, { clock: realClock(), random: realRandom() });
