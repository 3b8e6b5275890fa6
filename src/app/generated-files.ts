// Lists every file of the package that is generated from schemas, routes, commands and lint rules.
import type { Manifest } from '../docgen/manifest.ts';
import { type RenderedFile, renderAll } from '../docgen/render.ts';
import { renderOpenapi } from '../http/description/openapi.ts';
import { lintPages } from '../ops/lint/pages.ts';

/** Deterministic: the same input gives the same bytes. */
export function generatedFiles(manifest: Manifest, version: string): RenderedFile[] {
  const { json, yaml } = renderOpenapi(version);
  return [
    ...renderAll(manifest),
    ...lintPages(),
    { path: 'docs/openapi.json', text: json },
    { path: 'docs/openapi.yaml', text: yaml },
  ];
}
