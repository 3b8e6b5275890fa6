// Creates the byte ledger of this process, sized by its memory.
import { bufferLimit } from '../domain/buffer-limit.ts';
import { ByteLedger } from '../domain/byte-ledger.ts';
import type { Clock } from '../domain/ports.ts';
import { processMemory } from '../host/memory.ts';
import type { Config } from '../schema/config.ts';

export function processLedger({ server }: Pick<Config, 'server'>, clock: Clock): ByteLedger {
  return new ByteLedger(bufferLimit(server.buffer_limit, processMemory()), clock);
}
