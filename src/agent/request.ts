// One OPEN or CALL to the agent, and the answers that it permits. Any other answer is a fault.
import type { ErrnoWords } from './errno.ts';
import type { TYPE } from './protocol.ts';
import type { WireReader, WireWriter } from './wire.ts';

export interface StreamRequest<T> {
  type: typeof TYPE.OPEN | typeof TYPE.CALL;
  /** Stream kind or method. */
  code: number;
  /** The tenant; absent: the entire sandbox. */
  uid?: number;
  /** The user of the sandbox that it is done as, by name; absent: the agent's own. */
  account?: string;
  /** Called when the request is sent; a ServiceError thrown here fails the stream. */
  args: () => WireWriter;
  /** Channels that the agent may use; none unless given. */
  channels?: readonly number[];
  /** The agent may send STARTED. */
  starts?: boolean;
  /** EOF on channel 0 ends the data (connect); otherwise only the last frame does. */
  endsAtEof?: boolean;
  /** Reads the RESULT. An error thrown here ends the session. */
  decode: (reader: WireReader) => T;
  words?: ErrnoWords;
}
