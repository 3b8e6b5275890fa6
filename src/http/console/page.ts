// The page of the console. Its base is relative to the address that the browser used, so that the console works below any prefix
// that a proxy removes.
import type { Assets } from './assets.ts';

/** `path`: as the server sees it, below /console/ or /docs. */
export function baseOf(path: string): string {
  const segments = path.split('/').length - 1;
  if (path.startsWith('/console/')) return segments === 2 ? './' : '../'.repeat(segments - 2);
  return `${segments === 1 ? './' : '../'.repeat(segments - 1)}console/`;
}

export function pageOf({ entry, style, preload }: Assets['manifest'], base: string, nonce: string): string {
  const links = preload.map((name) => `<link rel="modulepreload" href="assets/${name}">`).join('');
  return `<!doctype html>
<html lang="en" dir="ltr">
<head><meta charset="utf-8"><base href="${base}"><title>svc</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,"><link rel="stylesheet" href="assets/${style}">${links}
<script type="module" src="assets/${entry}" nonce="${nonce}"></script></head>
<body><div id="app"></div><noscript>The console needs JavaScript. The svc command works without it.</noscript></body>
</html>
`;
}
