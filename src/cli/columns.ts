// How many columns of a terminal a text fills, which is not its length.

const INVISIBLE = /^[\p{Mn}\p{Me}\p{Cf}\p{Emoji_Modifier}]$/u;
const WIDE =
  /^(?:[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]|(?!\p{Regional_Indicator})\p{Emoji_Presentation})$/u;
const PICTURE = /^\p{Extended_Pictographic}$/u;
const PLAIN = /^[\x20-\x7e]*$/;
const JOINER = '\u200d';

/**
 * Columns of a terminal that `text` fills: 2 for East Asian wide characters and emoji, 0 for marks. Counted a character
 * at a time, so that texts which end in a space add up.
 */
export function columnsOf(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let columns = 0;
  let before = '';
  for (const char of text) {
    const isJoined = before === JOINER && PICTURE.test(char);
    if (!isJoined && !INVISIBLE.test(char)) columns += WIDE.test(char) ? 2 : 1;
    before = char;
  }
  return columns;
}
