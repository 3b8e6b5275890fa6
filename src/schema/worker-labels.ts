// Labels of workers: what an operator says of a host, such as gpu=a100 or zone=b.
import { Type } from 'typebox';

export const MOST_LABELS = 32;
export const LABEL_KEY = '^[A-Za-z0-9]([A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?$';
export const LABEL_VALUE = '^[A-Za-z0-9._-]{1,63}$';

export const workerLabels = (description: string, more: object = {}) =>
  Type.Record(Type.String({ pattern: LABEL_KEY }), Type.String({ pattern: LABEL_VALUE }), {
    additionalProperties: false,
    maxProperties: MOST_LABELS,
    description: `${description} At most ${MOST_LABELS}; keys of letters, digits and . _ / -, values of letters, digits and . _ -, at most 63 each.`,
    ...more,
  });
