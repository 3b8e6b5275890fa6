// How many columns of a terminal a text fills, which is not its length.
import stringWidth from 'string-width';

const PLAIN = /^[\x20-\x7e]*$/;

/** 2 for East Asian wide characters and emoji, 0 for marks. */
export const columnsOf = (text: string): number => (PLAIN.test(text) ? text.length : stringWidth(text));
