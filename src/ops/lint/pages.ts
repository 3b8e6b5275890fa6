// docs/lint/: a page for each rule and an index, from the rules themselves.
import { type LintRule, TOPICS, type Topic } from './rule.ts';
import { LINT_RULES } from './rules.ts';

const GENERATED = '<!-- Generated from src/ops/lint/rules/ by `npm run generate`; do not edit. -->';

const HEAD = `# Rules of \`svc config lint\`

${GENERATED}

\`svc config lint --file svc.yaml\` checks one configuration file. It reads that file and the secret files it names, nothing
else. \`--production\` applies the rules for a service that strangers can reach. \`off\` means that the rule does not apply
then. Errors end the command with exit code 3; with \`--strict\` warnings do, too. A file that is not a configuration ends it
with 2. See [config lint](../config-lint.md).
`;

/** The same rules give the same bytes. */
export function lintPages(): { path: string; text: string }[] {
  const pages = LINT_RULES.map((rule) => ({ path: `docs/lint/${rule.id}.md`, text: page(rule) }));
  return [{ path: 'docs/lint/README.md', text: index() }, ...pages];
}

function index(): string {
  const topics = (Object.keys(TOPICS) as Topic[]).map((topic) => {
    const rows = LINT_RULES.filter((rule) => rule.topic === topic).map(row);
    return `\n## ${TOPICS[topic]}\n\n| Rule | What | Else | Production |\n|---|---|---|---|\n${rows.join('')}`;
  });
  return HEAD + topics.join('');
}

const row = ({ id, title, level, production }: LintRule) =>
  `| [${id}](${id}.md) | ${title} | ${level} | ${production} |\n`;

function page({ id, topic, key, title, why, remedy, example, level, production }: LintRule): string {
  const facts = [
    ...(key === '' ? [] : [`- Key: \`${key}\``]),
    `- Topic: ${TOPICS[topic]}`,
    `- Counts as: ${level}; with \`--production\`: ${production}`,
  ];
  return `# ${id}: ${title}

${GENERATED}

${facts.join('\n')}

## Why

${why}

## What to do

${remedy}

\`\`\`yaml
${example}\`\`\`
`;
}
