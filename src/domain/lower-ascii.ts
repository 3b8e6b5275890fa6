// Upper and lower case where databases and this process must agree.

/** The text with a to z for A to Z; all other letters stay. */
export const lowerAscii = (text: string): string =>
  text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
