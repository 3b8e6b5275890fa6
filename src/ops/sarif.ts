// The frame of a SARIF 2.1.0 log, which code scanning services read.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export type Json = string | number | boolean | Json[] | { [name: string]: Json };

const SCHEMA = 'https://json.schemastore.org/sarif-2.1.0.json';

/** What made a log. */
export interface SarifMaker {
  /** The version of svc. */
  version: string;
  /** URL of the folder of documents, with a slash at the end: help links point into it. */
  docs: string;
}

/** For the package at `root`. */
export const sarifMaker = (root: string, version: string): SarifMaker => ({
  version,
  docs: `${pathToFileURL(join(root, 'docs')).href}/`,
});

export interface SarifRun {
  /** The command. */
  name: string;
  rules: Json[];
  results: Json[];
  /** False where something kept the command from judging everything. */
  isComplete: boolean;
}

/** One log with one run. */
export function sarifFrame(
  { name, rules, results, isComplete }: SarifRun,
  { version, docs }: SarifMaker,
): Json {
  const driver = { name, version, semanticVersion: version, informationUri: `${docs}README.md`, rules };
  return {
    $schema: SCHEMA,
    version: '2.1.0',
    runs: [
      {
        tool: { driver },
        columnKind: 'utf16CodeUnits',
        invocations: [{ executionSuccessful: isComplete }],
        results,
      },
    ],
  };
}
