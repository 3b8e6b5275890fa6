// Words and phrases that the project does not use, for the style test and `npm run house -- --words`. docs/style.md explains
// them. A pattern leaves out the standard English phrases that contain its word.

/** @typedef {{ name: string, pattern: RegExp, instead: string }} Phrase */

/** @type {readonly Phrase[]} */
export const PHRASES = [
  {
    name: 'is no',
    pattern: /(?<!\bthere\s)\b(?:is|are|was|were|be|being) no (?!longer\b|more\b|less\b)/gi,
    instead: '"is not a …"',
  },
  { name: 'told', pattern: /\b(?:told|untold)\b/gi, instead: 'report, log, announce' },
  { name: 'tells of', pattern: /\b(?:tells?|telling) of\b/gi, instead: 'report, describe' },
  { name: 'said', pattern: /\bsaid\b/gi, instead: 'state, report' },
  { name: 'heard', pattern: /\b(?:heard|unheard|hears? of)\b/gi, instead: 'receive, learn' },
  { name: 'anew', pattern: /\banew\b/gi, instead: 'again' },
  { name: 'deed', pattern: /\bdeeds?\b/gi, instead: 'operation' },
  { name: 'mend', pattern: /\bmend(?:s|ed|ing)?\b/gi, instead: 'remedy, repair' },
  {
    name: 'whole',
    pattern: /(?<!\bas a )\bwhole\b(?! (?:number|second|minute|millisecond|megabyte|byte|percent)s?\b)/gi,
    instead: 'entire, all of, complete',
  },
  { name: 'ward', pattern: /\bwards?\b(?!-)/gi, instead: 'the noun it stands for' },
  { name: 'patient', pattern: /\b(?:patients?|patiently|patience)\b/gi, instead: 'context, retry, timeout' },
  {
    name: 'place',
    pattern: /(?<!\b(?:in|takes?|taking|took|first|decimal) )\bplaces?\b(?! of the decimal)/gi,
    instead: 'capacity, slot, position, location, entry',
  },
  {
    name: 'way',
    pattern:
      /(?<!\b(?:by the|either|the same|this|that|one|two|half|the other|all the|the only) )(?<!-)\bways?\b/gi,
    instead: 'method, path, connection, direction',
  },
  { name: 'gone', pattern: /\bgone\b/gi, instead: 'removed, ended, disconnected, missing' },
  { name: 'begun', pattern: /\bbegun\b/gi, instead: 'started' },
  { name: 'goes on', pattern: /\b(?:go|goes|going|went) on\b/gi, instead: 'continue, resume' },
  { name: 'let be', pattern: /\b(?:let|lets|left|leave|leaves) be\b/gi, instead: 'keep, ignore' },
  { name: 'besides', pattern: /\bbesides\b/gi, instead: 'also, in addition' },
  { name: 'would else', pattern: /\bwould else\b/gi, instead: 'otherwise it would' },
  { name: 'rightly', pattern: /\brightly\b/gi, instead: 'correctly, legitimately' },
  { name: 'belongs into', pattern: /\bbelongs? into\b/gi, instead: 'belongs in' },
  { name: 'makes no sense', pattern: /\bma(?:kes?|de) no sense\b/gi, instead: 'is invalid' },
  { name: 'not taken', pattern: /\bnot taken\b/gi, instead: 'not supported, rejected' },
  {
    name: 'is … again',
    pattern: /\b(?:is|are) (?:tried|read|asked|made|sent|started|looked at|looked for|opened) again\b/gi,
    instead: 'retrying, rereading: say what happens next',
  },
  {
    name: 'no noun before "who" or "there is"',
    pattern:
      /(?:\b(?:of|to|by|for|than|and|or|as|what) who(?:ever)?\b|\b(?:those|what|all|than) there (?:is|are|was|were)\b)/gi,
    instead: 'name the noun: "a client that …", "the existing …"',
  },
];

/** A doc comment is a sentence. */
/** @type {Phrase} */
export const FRAGMENT = {
  name: 'fragment',
  pattern: /^(?:Of|By|With|Whose|Whom|Without)\b(?! (?:default|convention)\b)/g,
  instead: 'a sentence with a subject and a verb',
};

/** Words that carry no meaning in an identifier. */
export const NAMES = new Set(
  'told said heard asked whole gone way ways begun anew deed deeds mend mends ward patient'.split(' '),
);
