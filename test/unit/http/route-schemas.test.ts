// Schemas are compiled for the first value that they check, so no start of a server would show one that cannot be.
import { expect, it } from 'vitest';
import { ROUTES } from '../../../src/http/routes/routes.ts';
import { validator } from '../../../src/schema/validator.ts';

it.each(ROUTES.map((route) => [route.id, route] as const))(
  'the schemas of %s compile',
  (_id, { params, query, body }) => {
    for (const schema of [params, query, body])
      if (schema) expect(() => validator(schema, 'It')(Symbol('nothing that passes'))).not.toThrow();
  },
);
