// JSON lines as the engine sends them for pulls and events.
import { type JsonLineFormat, objectLine } from '../../domain/json-lines.ts';
import { ONE_THING } from '../../domain/json-reading.ts';
import { invalidEngineReply } from './engine-faults.ts';

export const ENGINE_LINES: JsonLineFormat<object> = {
  bytes: 256 * 1024,
  structure: ONE_THING,
  tooLong: () => invalidEngineReply('a line without an end', undefined),
  read: objectLine,
  invalid: (cause) => invalidEngineReply('a line is not an object', cause),
};
