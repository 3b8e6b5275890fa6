// Every file of the package that is made from schemas, routes and commands.
import type { Manifest } from '../docs/manifest.ts';
import { type RenderedFile, renderAll } from '../docs/render.ts';
import { renderOpenapi } from '../http/openapi.ts';

/** The same input gives the same bytes. */
export function generatedFiles(manifest: Manifest, version: string): RenderedFile[] {
  const { json, yaml } = renderOpenapi(version);
  return [
    ...renderAll(manifest),
    { path: 'docs/openapi.json', text: json },
    { path: 'docs/openapi.yaml', text: yaml },
  ];
}
