// The reading side of formats.ts: a seed a line in, an outcome a line out.
import { createInterface } from 'node:readline';
import { chanceOf } from './chance.ts';
import { formatCase } from './format-cases.ts';

for await (const line of createInterface({ input: process.stdin }))
  process.stdout.write(`${JSON.stringify(await formatCase(chanceOf(Number(line))))}\n`);
