// JSON bodies of 1 MiB that cost the most by their size: to parse, to look through for halves of pairs and for keys that
// reach for prototypes, to check against a schema, and to name what is wrong with them. Each is refused: what a call does is
// not to be measured.

const SIZE = 1024 * 1024;

/** `open`, as many of `unit` as fit, `close`. */
function filled(open: string, unit: string, close: string): string {
  const room = SIZE - open.length - close.length;
  return open + unit.repeat(Math.floor(room / unit.length)) + close;
}

/** Members of names that differ. */
function members(open: string, value: string, close: string): string {
  const parts: string[] = [];
  let size = open.length + close.length;
  for (let n = 0; size < SIZE - 40; n += 1) {
    const member = `"A${n.toString(36)}":${value},`;
    parts.push(member);
    size += member.length;
  }
  return open + parts.join('') + close;
}

const nested = (open: string, close: string) => {
  const times = Math.floor(SIZE / (open.length + close.length)) - 2;
  return `${open.repeat(times)}1${close.repeat(times)}`;
};

export function worstBodies(): Buffer[] {
  const half = '"\\ud83d"';
  const texts = [
    nested('[', ']'),
    nested('{"a":', '}'),
    nested('[{"a":', '}]'),
    ...['{},', '[],', '1,', '"",', '1e308,', '0.1234567890123456789,', 'null,', '{"a":1},'].map((unit) =>
      filled('{"timeout":1,"command":"x","args":[', unit, '1]}'),
    ),
    filled('{"timeout":1,"command":"x","args":[', '{},', `${half}]}`),
    filled('{"timeout":1,"command":"x","args":[', '"\\ud83d\\ude00",', '""]}'),
    filled('{"timeout":1,"command":"x","args":[', '"x",', `${half}]}`),
    filled('{"timeout":1,"command":"x","args":["__proto__",{"\\u005f_proto__":1},', '{},', '1]}'),
    filled('{"timeout":1,"command":"', '\\u0001', '"}'),
    filled('{"timeout":1,"command":"', '\\ud83d\\ude00', '"}'),
    filled('{"timeout":1,"command":"', '\\ud83d\\ude00', '\\ud83d"}'),
    filled('{"timeout":1,"command":"', '\\\\\\"', '"}'),
    filled('{"memory_mb":', '9', '}'),
    filled('{"memory_mb":0.', '0', '1}'),
    filled('{"ttl":1,"timeout":1', ' ', '}'),
    filled('{"', 'k', '":1}'),
    filled('{', '"a":{},', '"a":1}'),
    members('{', '1', '"x":1}'),
    members('{"ttl":1,"metadata":{', '"x"', '"x":""}}'),
    members('{"timeout":1,"command":"x","env":{', '"x"', `"x":${half}}}`),
    members('{"name":"x","image":"y","env":{', '{}', '"x":""}}'),
    // As much structure as is taken, and texts that fill the rest.
    filled('{"timeout":1,"command":"x","args":[', `"${'\\ud83d\\ude00'.repeat(30)}",`, '""]}'),
    filled('{"timeout":1,"command":"x","args":[', `"${'x'.repeat(30)}",`, '""]}'),
    members('{"metadata":{', `"${'\\u0001'.repeat(8)}"`, '"x":""}}'),
  ];
  return texts.map((text) => Buffer.from(text));
}
