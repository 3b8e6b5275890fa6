// Types of the scoped client package without TypeBox: the declarations that `tsc` wrote, with each `Static<typeof X>` written
// out from the schema X itself, with its descriptions.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import ts from 'typescript';

/** @typedef {Record<string, any>} Schema */

/** Types of shapes that a module keeps to itself are part of the types that it exports. */
const everythingExported = {
  name: 'everything-exported',
  setup(/** @type {import('esbuild').PluginBuild} */ { onLoad }) {
    onLoad({ filter: /[\\/]src[\\/]schema[\\/].*\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replace(/^const (?=[A-Z])/gm, 'export const '),
      loader: 'ts',
    }));
  },
};

/** The modules of `src/schema`, as they are in the source. */
async function schemaModules(/** @type {string} */ root, /** @type {string[]} */ names) {
  const contents = names.map((name, n) => `export * as m${n} from './src/schema/${name}.ts';`).join('\n');
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: root },
    bundle: true,
    format: 'esm',
    platform: 'node',
    write: false,
    plugins: [everythingExported],
  });
  const text = outputFiles[0]?.text ?? '';
  const all = await import(`data:text/javascript;base64,${Buffer.from(text).toString('base64')}`);
  return new Map(names.map((name, n) => [name, all[`m${n}`]]));
}

/** Rewrites `<folder>/schema/*.d.ts`. Throws for a schema that it cannot write. */
export async function writeClientTypes(
  /** @type {string} */ root,
  /** @type {string} */ folder,
  /** @type {string[]} */ names,
) {
  const modules = await schemaModules(root, names);
  for (const name of names) {
    const file = join(folder, 'schema', `${name}.d.ts`);
    writeFileSync(file, withoutTypebox(readFileSync(file, 'utf8'), modules.get(name)));
  }
}

function withoutTypebox(/** @type {string} */ text, /** @type {Record<string, Schema>} */ schemas) {
  const source = ts.createSourceFile('x.d.ts', text, ts.ScriptTarget.Latest, true);
  const kept = source.statements.flatMap((statement) => {
    const own = statement.getFullText(source).trim();
    const alias = /export type (\w+) = Static<typeof (\w+)>;$/.exec(own);
    if (alias) return [declared(alias[1] ?? '', schemas[alias[2] ?? ''])];
    return /\bType\.|\bStatic<|\bTSchema\b|from 'typebox'|SOCKET_MESSAGES/.test(own) ? [] : [own];
  });
  return `${kept.join('\n')}\nexport {};\n`;
}

function declared(/** @type {string} */ name, /** @type {Schema | undefined} */ schema) {
  if (!schema) throw new Error(`There is no schema for ${name}.`);
  return `${comment(schema, '')}export type ${name} = ${typeText(schema, '')};`;
}

function comment(/** @type {Schema} */ { description }, /** @type {string} */ indent) {
  return description === undefined ? '' : `${indent}/** ${description.replaceAll('*/', '* /')} */\n`;
}

/** @returns {string} */
function typeText(/** @type {Schema} */ schema, /** @type {string} */ indent) {
  if ('const' in schema) return JSON.stringify(schema.const);
  if (schema.enum) return union(schema.enum.map((/** @type {unknown} */ value) => JSON.stringify(value)));
  if (schema.anyOf) return union(schema.anyOf.map((/** @type {Schema} */ one) => typeText(one, indent)));
  if (schema.allOf) return schema.allOf.map((/** @type {Schema} */ one) => typeText(one, indent)).join(' & ');
  switch (schema.type) {
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type;
    case 'integer':
    case 'number':
      return 'number';
    case 'array':
      return `Array<${typeText(schema.items ?? {}, indent)}>`;
    case 'object':
      return objectText(schema, indent);
    case undefined:
      return 'unknown';
    default:
      throw new Error(`A schema has the type ${schema.type}.`);
  }
}

const union = (/** @type {string[]} */ parts) => parts.map((part) => `(${part})`).join(' | ');

function objectText(/** @type {Schema} */ schema, /** @type {string} */ indent) {
  const fields = Object.entries(schema.properties ?? {});
  const values = Object.values(schema.patternProperties ?? {})[0] ?? schema.additionalProperties;
  if (fields.length === 0) {
    if (values === false) return '{ [name: string]: never }';
    return `{ [name: string]: ${typeof values === 'object' ? typeText(values, indent) : 'unknown'} }`;
  }
  const inner = `${indent}  `;
  const lines = fields.map(([name, field]) => {
    const mark = schema.required?.includes(name) ? '' : '?';
    return `${comment(field, inner)}${inner}${JSON.stringify(name)}${mark}: ${typeText(field, inner)};`;
  });
  return `{\n${lines.join('\n')}\n${indent}}`;
}
