// Renders a terminal transcript as an SVG for the documents. Lines that start with `$ ` are commands.
//
//   node scripts/terminal-svg.js 'A title for screen readers' < transcript.txt > docs/images/first-minute.svg
//
// The transcript is the unedited output of a real run: `npm start 2>&1 | tee transcript.txt`, cut at ends of lines.
import { readFileSync } from 'node:fs';
import process from 'node:process';

const CHARACTER_WIDTH = 8;
const LINE_HEIGHT = 20;
const PADDING = 20;
const COLORS = { background: '#0d1117', border: '#30363d', output: '#c9d1d9', command: '#7ee787' };

const [title = 'Terminal'] = process.argv.slice(2);
const lines = readFileSync(0, 'utf8').trimEnd().split('\n');
const width = Math.max(...lines.map((line) => line.length)) * CHARACTER_WIDTH + 2 * PADDING;
const height = lines.length * LINE_HEIGHT + 2 * PADDING;

const escapeXml = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** `textLength` keeps columns aligned in whatever monospaced font the viewer has. */
function textOf(line, index) {
  if (line.trim() === '') return '';
  const indent = line.length - line.trimStart().length;
  const text = line.trim();
  const x = PADDING + indent * CHARACTER_WIDTH;
  const y = PADDING + index * LINE_HEIGHT + 14;
  const color = line.startsWith('$ ') ? COLORS.command : COLORS.output;
  const length = text.length * CHARACTER_WIDTH;
  return `  <text x="${x}" y="${y}" fill="${color}" textLength="${length}">${escapeXml(text)}</text>\n`;
}

process.stdout.write(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img">
  <title>${escapeXml(title)}</title>
  <style>text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre; }</style>
  <rect width="${width - 2}" height="${height - 2}" x="1" y="1" rx="8" fill="${COLORS.background}" stroke="${COLORS.border}"/>
${lines.map(textOf).join('')}</svg>
`);
