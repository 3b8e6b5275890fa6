// Where a proxy request of HTTP leads: the authority of CONNECT and the absolute form (RFC 9112, 3.2).

export interface HttpTarget {
  /** As the client sent it, IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
}

export interface AbsoluteTarget extends HttpTarget {
  /** The path and the query, unchanged; at least `/`. */
  readonly path: string;
}

const HTTP_PORT = 80;
const HTTPS_PORT = 443;
const AUTHORITY = /^(?:\[([0-9A-Fa-f:.]{2,45})\]|([^\s[\]:/?#@\\]{1,512}))(?::(\d{1,5}))?$/;

/** Reads `host:port`; without `usualPort` the port is required. Undefined for anything else, user names among them. */
export function readAuthority(text: string, usualPort?: number): HttpTarget | undefined {
  const [, six, name, portText] = AUTHORITY.exec(text) ?? [];
  const host = six ?? name;
  const port = portText === undefined ? usualPort : Number(portText);
  if (host === undefined || port === undefined || port < 1 || port > 65_535) return undefined;
  return { host, port };
}

/** Reads the target of a request in absolute form. Undefined for other schemes and other forms. */
export function readAbsolute(url: string): AbsoluteTarget | undefined {
  const [, authority, rest = ''] = /^http:\/\/([^/?#]*)([^#]*)$/is.exec(url) ?? [];
  const target = authority === undefined ? undefined : readAuthority(authority, HTTP_PORT);
  return target && { ...target, path: rest.startsWith('/') ? rest : `/${rest}` };
}

/** Reads the value of a Host header of HTTP, plain or by TLS. */
export function readHostHeader(value: string, isTls = false): HttpTarget | undefined {
  return readAuthority(value, isTls ? HTTPS_PORT : HTTP_PORT);
}
