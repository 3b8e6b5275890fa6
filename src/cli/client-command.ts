// Base of the commands that call a server.
import type { Client } from '../client/client.ts';
import { type ConnectionFlags, clientFlags, connect } from './connection.ts';
import { SvcCommand } from './svc-command.ts';

export abstract class ClientCommand extends SvcCommand {
  static override flags = clientFlags;

  /** A client for the flags and the environment. Sends nothing yet. Throws `bad_request` for an unusable key file. */
  protected connect(flags: ConnectionFlags): Client {
    return connect(flags);
  }
}
