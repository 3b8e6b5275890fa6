// What is asked of the agent in one OPEN or CALL, and what it may answer. Anything else that it says is a fault.
import type { ErrnoWords } from './errno.ts';
import type { TYPE } from './protocol.ts';
import type { WireReader, WireWriter } from './wire.ts';

export interface StreamRequest<T> {
  type: typeof TYPE.OPEN | typeof TYPE.CALL;
  /** Stream kind or method. */
  code: number;
  /** The tenant it is for; absent: the whole sandbox. */
  uid?: number;
  /** Written when it is sent; a ServiceError thrown here fails the stream. */
  args: () => WireWriter;
  /** Channels that the agent may use; none unless given. */
  channels?: readonly number[];
  /** The agent may send STARTED. */
  starts?: boolean;
  /** EOF on channel 0 ends what can be taken (connect); otherwise only the last frame does. */
  endsAtEof?: boolean;
  /** Reads the RESULT. What it throws ends the session. */
  decode: (reader: WireReader) => T;
  words?: ErrnoWords;
}
