// Bytes of a terminal to names of keys.

const NAMES = new Map(
  [
    ['enter', '\r', '\n'],
    ['backspace', '\x7f', '\b'],
    ['escape', '\x1b'],
    ['up', '\x1b[A', '\x1bOA'],
    ['down', '\x1b[B', '\x1bOB'],
    ['pageup', '\x1b[5~'],
    ['pagedown', '\x1b[6~'],
    ['home', '\x1b[H', '\x1bOH', '\x1b[1~'],
    ['end', '\x1b[F', '\x1bOF', '\x1b[4~'],
  ].flatMap(([name = '', ...sent]) => sent.map((bytes) => [bytes, name] as const)),
);
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the keys.
const KEYS = /\x1b(?:\[[0-9;?]*[A-Za-z~]|O[A-Z])|[\s\S]/gu;

/** The keys of one read; sequences without a name are left out. */
export function keysOf(text: string): string[] {
  return (text.match(KEYS) ?? []).flatMap((key) => {
    const name = NAMES.get(key) ?? key;
    return name.startsWith('\x1b') ? [] : [name];
  });
}
