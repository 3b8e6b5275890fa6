// YAML of plain JSON values in block style, with every string quoted: nothing turns into a number, a date or a tag, and
// readers of YAML 1.1 see the same text.
import { Document, type Scalar, visit } from 'yaml';

const PLAIN_KEY = /^[A-Za-z_/][A-Za-z0-9_/{}.-]*$/;
/** Words that YAML 1.1 reads as booleans or null. */
const RESERVED = /^(y|n|yes|no|on|off|true|false|null)$/i;

/** Ends with a line feed. `value` is an object. */
export function toYaml(value: object): string {
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, {
    Pair: (_, { key }) => {
      const name = key as Scalar<string>;
      if (!PLAIN_KEY.test(name.value) || RESERVED.test(name.value)) name.type = 'QUOTE_DOUBLE';
    },
  });
  return document.toString({
    defaultStringType: 'QUOTE_DOUBLE',
    defaultKeyType: 'PLAIN',
    doubleQuotedAsJSON: true,
    lineWidth: 0,
  });
}
