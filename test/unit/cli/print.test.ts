// What reaches a terminal, whatever a view hands over.
import { Chalk } from 'chalk';
import { expect, it } from 'vitest';
import { line, print, terminalText } from '../../../src/cli/print.ts';
import { printableJson } from '../../../src/domain/printable.ts';
import { FORGED, HOSTILE, OBEYED } from '../../support/checks/hostile-values.ts';

const paint = new Chalk({ level: 1 });

it('keeps lines and our own styles, and shows all other control characters', () => {
  const styled = `${paint.red.bold('Error:')} x\n${paint.dim('y')} ${paint.green('z')}`;
  expect(terminalText(styled, true)).toBe(styled);
  expect(terminalText('\x1b[8mhidden\x1b[2J\x9b2J\r\tü日', true)).toBe(
    '\\x1b[8mhidden\\x1b[2J\\x9b2J\\r\\tü日',
  );
  expect(terminalText(paint.red('x'), false)).toBe('\\x1b[31mx\\x1b[39m');
  expect(terminalText(HOSTILE, true)).not.toMatch(OBEYED);
});

it('writes a line as one line, whatever it contains', () => {
  expect(line`a ${HOSTILE} ${1}`).not.toMatch(OBEYED);
  expect(line`a\\b ${HOSTILE}`).not.toMatch(FORGED);
  const written: string[] = [];
  print('a\x1bb', { write: (text) => written.push(text) });
  expect(written).toEqual(['a\\x1bb\n']);
});

it('writes JSON that parses to the same value', () => {
  const value = { [HOSTILE]: [HOSTILE, '日本 👩‍💻', 1] };
  expect(JSON.parse(printableJson(value))).toEqual(value);
  expect(printableJson(value, 2)).not.toMatch(OBEYED);
});
