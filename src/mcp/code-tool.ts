// The tool that runs code in the interpreter of a sandbox.
import { stripVTControlCharacters } from 'node:util';
import { Type } from 'typebox';
import type { CodeOutput, CodeResult } from '../schema/code.ts';
import { type Block, HeadAndTail, type ToolResult, textResult } from './output.ts';
import { environment, sandboxId } from './sandbox-tools.ts';
import { defineTool, type Tool } from './tool.ts';

const TIMEOUT = '60s';
const MOST_IMAGES = 4;
/** Base64 characters of an image. */
const MOST_IMAGE = 1400 * 1024;
/** Kinds of output as text, the plainest first. */
const TEXTS = ['text', 'markdown', 'latex', 'json', 'svg', 'html'] as const;

export const runCode: Tool = defineTool({
  name: 'run_code',
  title: 'Run code in an interpreter',
  description:
    'Run code in an interpreter that keeps names and values between calls. Gives the value of the last expression, output, images, and the error if there is one. python needs an image with ipykernel; without it, write a file and use run_command.',
  input: Type.Object({
    sandbox_id: sandboxId,
    code: Type.String({ minLength: 1 }),
    language: Type.Optional(
      Type.Enum(['python', 'bash', 'javascript'], { description: 'python without it.' }),
    ),
    timeout: Type.Optional(
      Type.String({ description: `The code is interrupted after this duration; ${TIMEOUT} without it.` }),
    ),
    env: environment,
  }),
  hints: { destructiveHint: true, openWorldHint: true },
  run: async ({ sandbox_id, code, ...options }, call) => {
    const id = await call.session.sandbox(sandbox_id, call);
    const terms = { signal: call.signal };
    return codeResult(id, await call.client.code.run(id, code, { timeout: TIMEOUT, ...options }, terms));
  },
});

/** Text with a bound, and images that hosts can show. */
export function codeResult(sandbox_id: string, { results, stdout, stderr, error }: CodeResult): ToolResult {
  const shown = results.map(textOf).filter((text) => text !== '');
  const record = {
    sandbox_id,
    state: error ? 'failed' : 'done',
    results: shown.map(bounded),
    stdout: bounded(stdout),
    stderr: bounded(stderr),
    ...(error && {
      error: bounded(stripVTControlCharacters(error.traceback || `${error.name}: ${error.value}`)),
    }),
  };
  const parts = [`sandbox_id: ${sandbox_id}, state: ${record.state}`];
  for (const text of record.results) parts.push(`result:\n${text}`);
  if (record.stdout !== '') parts.push(`stdout:\n${record.stdout}`);
  if (record.stderr !== '') parts.push(`stderr:\n${record.stderr}`);
  if (record.error !== undefined) parts.push(`error:\n${record.error}`);
  const { images, missing } = imagesOf(results);
  if (missing > 0) parts.push(`[${missing} images are not shown. Save them to files and use read_file.]`);
  const text = textResult(parts.join('\n'), record);
  return { ...text, content: [...text.content, ...images] };
}

function bounded(text: string): string {
  const kept = new HeadAndTail();
  kept.add(text);
  return kept.text;
}

function textOf(output: CodeOutput): string {
  const kind = TEXTS.find((name) => output[name] !== undefined);
  if (kind === undefined) return '';
  const value = output[kind];
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function imagesOf(results: readonly CodeOutput[]): { images: Block[]; missing: number } {
  const all = results.flatMap(({ png, jpeg }): Block[] => [
    ...(png === undefined ? [] : [{ type: 'image' as const, data: png, mimeType: 'image/png' }]),
    ...(jpeg === undefined ? [] : [{ type: 'image' as const, data: jpeg, mimeType: 'image/jpeg' }]),
  ]);
  const fits = (block: Block) => block.type === 'image' && block.data.length <= MOST_IMAGE;
  const images = all.filter(fits).slice(0, MOST_IMAGES);
  return { images, missing: all.length - images.length };
}
