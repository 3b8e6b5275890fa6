// Stands for ws in browsers, whose WebSockets cannot send the headers that hold the key.
import { ServiceError } from '../../domain/errors.ts';

export default class WebSocket {
  static readonly OPEN = 1;

  constructor() {
    throw new ServiceError(
      'not_implemented',
      'A browser cannot open interactive commands: its WebSockets send no key.',
      {
        remedy: 'Use exec or execStream, or open it from a server.',
      },
    );
  }
}
