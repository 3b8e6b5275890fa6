// Results of code as an agent gets them: texts with a bound, and images that hosts can show.
import { expect, it } from 'vitest';
import { codeResult } from '../../../src/mcp/code-tool.ts';

const nothing = { results: [], stdout: '', stderr: '' };
const result = (facts: object) => ({ is_main_result: true, ...facts });

it('shows the plainest text of each result, and images up to a bound', () => {
  const { content, structuredContent } = codeResult('sb-1', {
    ...nothing,
    results: [
      result({ text: 'one', html: '<b>one</b>' }),
      result({ json: { a: 1 } }),
      result({ png: 'iVBO' }),
      result({ jpeg: 'x'.repeat(1500 * 1024) }),
      ...Array.from({ length: 5 }, () => result({ png: 'aaaa' })),
    ],
  });
  expect(structuredContent).toMatchObject({ state: 'done', results: ['one', '{"a":1}'] });
  expect(content.filter(({ type }) => type === 'image')).toHaveLength(4);
  expect(content[1]).toEqual({ type: 'image', data: 'iVBO', mimeType: 'image/png' });
  expect(content[0]).toMatchObject({ text: expect.stringContaining('[3 images are not shown.') });
});

it('shows the traceback without colours, and cuts what is long', () => {
  const error = { name: 'NameError', value: 'x', traceback: '\u001b[31mNameError\u001b[0m: x' };
  const { content, structuredContent } = codeResult('sb-1', {
    ...nothing,
    stdout: 'o'.repeat(100_000),
    error,
  });
  expect(structuredContent).toMatchObject({ state: 'failed', error: 'NameError: x' });
  expect(content).toMatchObject([{ text: expect.stringContaining('error:\nNameError: x') }]);
  expect(String(structuredContent?.stdout).length).toBeLessThan(17_000);
});
