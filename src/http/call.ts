// One request as a handler sees it: the validated parts, who asks, and the signal that ends with the connection.
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { Caller } from '../control/api/caller.ts';
import { accountOf, type ByteLedger, type Hold } from '../domain/byte-ledger.ts';
import type { WorkerIdentity } from '../domain/worker-access.ts';
import type { AuthorizedCaller } from './caller.ts';
import { Disconnect, disconnectSignal } from './client-disconnect.ts';
import type { Scheme } from './headers/forwarded.ts';

/** The API description as it is answered. */
export interface ServedOpenapi {
  json(): Buffer;
  yaml(): Buffer;
}

/** What handlers may know about the server itself. */
export interface ServerFacts {
  /** The version in package.json, for example `0.1.0`. */
  version: string;
  /** Bytes of a raw upload at most. */
  maxFileSize: number;
  /** Bytes of an archive of images at most. */
  maxArchiveSize: number;
  /** Bytes of an archive of a folder at most. */
  maxFolderSize: number;
  openapi: ServedOpenapi;
}

interface CallParts<P, Q, B> {
  params: P;
  query: Q;
  body: B;
  content?: Buffer[] | undefined;
  headers: IncomingHttpHeaders;
  authorized: AuthorizedCaller;
  response: ServerResponse;
  server: ServerFacts;
  scheme: Scheme;
  ledger: ByteLedger;
  about(target: string): void;
}

export class Call<P, Q, B> {
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  /** The file inside a JSON body, whose content property is then an empty string: its text in UTF-8. */
  readonly content: Buffer[];
  readonly headers: IncomingHttpHeaders;
  readonly caller: Caller;
  /** A key was proved, or none is asked for. */
  readonly full: boolean;
  /** Admin routes are open to the caller. */
  readonly administers: boolean;
  /** Who calls, on routes of workers. */
  readonly worker: WorkerIdentity | undefined;
  readonly server: ServerFacts;
  /** Says what the call is about, for the audit, where neither its path nor its answer does. */
  readonly about: (target: string) => void;
  /** The scheme that the client uses towards us, or towards a trusted proxy. */
  readonly scheme: Scheme;
  readonly #response: ServerResponse;
  readonly #ledger: ByteLedger;
  #signal: AbortSignal | undefined;
  #hold: Hold | undefined;

  constructor(parts: CallParts<P, Q, B>) {
    this.params = parts.params;
    this.query = parts.query;
    this.body = parts.body;
    this.content = parts.content ?? [];
    this.headers = parts.headers;
    this.caller = parts.authorized.caller;
    this.full = parts.authorized.full;
    this.administers = parts.authorized.administers;
    this.worker = parts.authorized.worker;
    this.server = parts.server;
    this.about = parts.about;
    this.scheme = parts.scheme;
    this.#response = parts.response;
    this.#ledger = parts.ledger;
  }

  /** Aborts when the client has disconnected. */
  get signal(): AbortSignal {
    this.#signal ??= disconnectSignal(this.#response);
    return this.#signal;
  }

  /** The same for calls that may wait for long. */
  get disconnect(): Disconnect {
    return new Disconnect(this.#response);
  }

  /** What is kept in memory for this call, on its caller's account; all of it goes back when the answer is out. */
  get hold(): Hold {
    this.#hold ??= heldFor(this.#response, this.#ledger.open(accountOf(this.caller)));
    return this.#hold;
  }
}

/** `hold`, which is released with the end of `response`. */
export function heldFor(response: ServerResponse, hold: Hold): Hold {
  if (response.destroyed || response.closed) hold.release();
  else response.on('close', () => hold.release());
  return hold;
}
