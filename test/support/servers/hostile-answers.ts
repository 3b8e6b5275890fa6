// Answers of the API with every text in them replaced by one that attacks who shows it, as if whoever wrote it could write anything:
// a guest, a worker, another client. Numbers, times and the shape stay.
import type { Page } from './browser.ts';

/** All of it in every text, so that no place is spared by chance. */
export const HOSTILE = [
  '<img src=x onerror=alert(1)>',
  'evil\u202egpj.exe\u2066\u2069',
  '漢'.repeat(255),
  'two\nlines\u001b[31mred\u001b]0;owned\u0007',
  'x'.repeat(5000),
  '\u0000hidden\u200b\ufeff\u{e0041}',
  '"><script>alert(1)</script>{{7*7}}',
].join('');
const TIME = /^\d{4}-\d{2}-\d{2}T/;

/** From now on; counts what it has changed, and what waits for its answer. */
export async function answerHostilely(
  page: Page,
  except: RegExp,
): Promise<{ changed: number; asked: number }> {
  const done = { changed: 0, asked: 0 };
  let next = 0;
  const hostile = (value: unknown): unknown => {
    if (typeof value === 'string' && !TIME.test(value)) return `${HOSTILE}${next++}`;
    if (Array.isArray(value)) return value.map(hostile);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, hostile(one)]));
  };
  const changed = (text: string) =>
    text.startsWith('{') || text.startsWith('[')
      ? JSON.stringify(hostile(JSON.parse(text)))
      : text.replace(/^data: (.*)$/gm, (_all, data) => `data: ${JSON.stringify(hostile(JSON.parse(data)))}`);
  page.on('Fetch.requestPaused', (paused) => {
    const { requestId, request, responseStatusCode, responseHeaders } = paused as unknown as Paused;
    const answer = async () => {
      if (except.test(request.url)) return page.give('Fetch.continueRequest', { requestId });
      const { body, base64Encoded } = await page.give('Fetch.getResponseBody', { requestId });
      const text = base64Encoded ? Buffer.from(String(body), 'base64').toString() : String(body);
      done.changed += 1;
      return page.give('Fetch.fulfillRequest', {
        requestId,
        responseCode: responseStatusCode,
        responseHeaders: responseHeaders.filter(({ name }) => !/^content-(?:length|encoding)$/i.test(name)),
        body: Buffer.from(changed(text)).toString('base64'),
      });
    };
    done.asked += 1;
    // The page may have given up a request meanwhile: then Chromium refuses, or never answers.
    Promise.race([answer(), new Promise((givenUp) => setTimeout(givenUp, 3000))])
      .catch(() => undefined)
      .finally(() => {
        done.asked -= 1;
      });
  });
  await page.give('Fetch.enable', { patterns: [{ urlPattern: '*/api/v1/*', requestStage: 'Response' }] });
  return done;
}

interface Paused {
  requestId: string;
  request: { url: string };
  responseStatusCode: number;
  responseHeaders: { name: string; value: string }[];
}
