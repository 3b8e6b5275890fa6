// Headers as they came: flat lists of names and values, which keep order, case and repetition. And which of them end with
// one connection (RFC 9110 7.6.1), whatever else they are.

export type HeaderList = readonly string[];

export interface Header {
  name: string;
  value: string;
  /** In lower case, `_` as `-`: programs behind CGI cannot tell these apart. */
  plain: string;
}

const HOP_BY_HOP: readonly string[] = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
];

/** All but those of the connection, the ones that Connection names among them. */
export function* endToEnd(list: HeaderList): Generator<Header> {
  const dropped = new Set(HOP_BY_HOP);
  for (const { plain, value } of each(list)) {
    if (plain === 'connection') for (const name of value.split(',')) dropped.add(plainName(name.trim()));
  }
  for (const header of each(list)) if (!dropped.has(header.plain)) yield header;
}

/** Values of the headers of this name, in order. */
export function valuesOf(list: HeaderList, name: string): string[] {
  return [...each(list)].filter(({ plain }) => plain === name).map(({ value }) => value);
}

function* each(list: HeaderList): Generator<Header> {
  for (let i = 0; i + 1 < list.length; i += 2) {
    const [name = '', value = ''] = [list[i], list[i + 1]];
    yield { name, value, plain: plainName(name) };
  }
}

const plainName = (name: string): string => name.toLowerCase().replaceAll('_', '-');
