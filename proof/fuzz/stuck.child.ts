// A reading side of formats.ts that goes round in circles at its second case, as a parser does that does not move on.
import { createInterface } from 'node:readline';

let cases = 0;
for await (const _ of createInterface({ input: process.stdin })) {
  for (cases += 1; cases > 1; );
  process.stdout.write('{"kind":"read"}\n');
}
