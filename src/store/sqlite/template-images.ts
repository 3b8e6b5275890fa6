// The images that stored templates name, read without a server and without changing the file.
import { withReader } from './reader.ts';

export interface TemplateImage {
  name: string;
  image: string;
  /** Null: the default provider runs the sandboxes of the template. */
  provider: string | null;
}

/** Sorted by name. Throws `not_found` when there is no file, else as the store does. */
export function readTemplateImages(path: string): TemplateImage[] {
  return withReader(path, (db) => {
    const hasTable = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'templates'").get() !== undefined;
    if (!hasTable) return [];
    return db.prepare<[], TemplateImage>('SELECT name, image, provider FROM templates ORDER BY name').all();
  });
}
