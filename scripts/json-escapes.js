// Makes src/http/json-escapes.ts of the .wat beside it: a WebAssembly module as text, which every bundle and every test can import.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import wabt from 'wabt';

const NAME = 'src/http/json-escapes';

/** The file as it has to be, for the package at `root`. */
export async function jsonEscapes(root) {
  const { parseWat } = await wabt();
  const module = parseWat(`${NAME}.wat`, readFileSync(join(root, `${NAME}.wat`), 'utf8'), { simd: true });
  const code = Buffer.from(module.toBinary({}).buffer).toString('base64');
  const text = `// json-escapes.wat as \`npm run generate\` compiles it, in base64.
export const JSON_ESCAPES =
  '${code}';
`;
  return { path: `${NAME}.ts`, text };
}
