// The fenced blocks of the documents: what a reader would type, and what stands below it.
//
// ```console   `$` lines (an ordinary user's) or `#` lines (root's), each with what it prints; `…` stands for anything
// ```sh        a script
// Either may say on its first line why no test can run it: ```console not-run="two hosts"
// or on which of several hosts a reader types it: ```console host="edge-1"
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../../src/host/package-root.ts';

/** Steps of a workflow of GitHub. */
const WORKFLOW = '- run: ';
const FOLDERS = ['agent', 'bench', 'deploy', 'docs', 'proof', 'src', 'test'];

export interface Block {
  document: string;
  /** Of the opening fence, from 1. */
  line: number;
  language: string;
  /** Why no test can run it. */
  notRun?: string;
  /** The host on which it is typed, in a document about several. */
  host?: string;
  text: string;
}

export interface Step {
  command: string;
  /** Lines that it prints; anything when none stand there. */
  prints: string[];
  place: string;
  /** `#` where root types it. */
  prompt: string;
}

/** Every Markdown file of the project, relative to the package. */
export function documents(): string[] {
  const below = FOLDERS.flatMap((folder) =>
    readdirSync(join(packageRoot(), folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md') && !name.includes('node_modules'))
      .map((name) => join(folder, name)),
  );
  return ['CHANGELOG.md', 'CONTRIBUTING.md', 'README.md', 'SECURITY.md', ...below].sort();
}

export function blocksOf(document: string, text = read(document)): Block[] {
  const blocks: Block[] = [];
  let open: { line: number; info: string; lines: string[] } | undefined;
  for (const [at, line] of text.split('\n').entries()) {
    const info = /^ *```(.*)$/.exec(line)?.[1];
    if (info === undefined) open?.lines.push(line);
    else if (!open) open = { line: at + 1, info, lines: [] };
    else {
      blocks.push(blockOf(document, open));
      open = undefined;
    }
  }
  if (open) throw new Error(`${document}:${open.line} opens a block that nothing closes`);
  return blocks;
}

export const isCommands = ({ language, text }: Block) =>
  language === 'console' || language === 'sh' || (language === 'yaml' && text.startsWith(WORKFLOW));

/** What a block says to type, in order. */
export function stepsOf(block: Block): Step[] {
  const place = `${block.document}:${block.line}`;
  if (block.language === 'sh') return [{ command: block.text.trimEnd(), prints: [], place, prompt: '' }];
  const prompt = block.text.startsWith(WORKFLOW) ? WORKFLOW : block.text.slice(0, 2);
  const steps: Step[] = [];
  let until: string | undefined;
  for (const line of block.text.trimEnd().split('\n')) {
    const last = steps.at(-1);
    if (until !== undefined && last) {
      last.command += `\n${line}`;
      if (line === until) until = undefined;
    } else if (line.startsWith(prompt)) {
      steps.push({ command: line.slice(prompt.length), prints: [], place, prompt: prompt.trim() });
      until = /<<'?(\w+)'?/.exec(line)?.[1];
    } else last?.prints.push(line);
  }
  return steps;
}

/** What `prints` stands for; `…` is anything, and so is whether empty lines end it. */
export function printed(prints: readonly string[]): RegExp {
  const literal = prints.join('\n').replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  return new RegExp(`^${literal.replaceAll('…', '.*')}\n*$`, 's');
}

function blockOf(document: string, { line, info, lines }: { line: number; info: string; lines: string[] }) {
  const parts = /^(\w*)(?: not-run="([^"]+)")?(?: host="([^"]+)")?$/.exec(info);
  const [, language = '', notRun, host] = parts ?? [undefined, info];
  const text = lines.map((each) => `${each}\n`).join('');
  return { document, line, language, text, ...(notRun && { notRun }), ...(host && { host }) };
}

function read(document: string): string {
  return readFileSync(join(packageRoot(), document), 'utf8');
}
