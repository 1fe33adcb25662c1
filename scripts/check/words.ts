/**
 * Words that must not be in the repository: marks of unfinished work, names that say nothing, traces of the machine
 * that a text was written on, and the private English that a stranger would have to learn first.
 */
import type { Finding } from "./finding.ts";
import { isProduct, isTestPath, lineAt, type SourceFile, type TextFile, type Tree } from "./tree.ts";

interface BannedWord {
  rule: "unfinished" | "machine" | "dialect";
  pattern: RegExp;
  fix: string;
  /** The files in which it is banned; all by default. */
  where?: "product" | "outside tests";
}

const bannedWords: BannedWord[] = [
  { rule: "unfinished", pattern: /\b(?:TODO|FIXME|XXX|HACK)\b/g, fix: "do it, or leave it out" },
  { rule: "unfinished", pattern: /\bnot (?:yet )?implemented\b/gi, fix: "build it, or leave it out" },
  { rule: "unfinished", pattern: /\bsimplified\b/gi, fix: "say what it does and does not do" },
  {
    rule: "unfinished",
    pattern: /\bstub(?:s|bed)?\b/gi,
    fix: "build it, or name it for what it is: fake, scripted, memory",
  },
  {
    rule: "machine",
    pattern: /(?<![\w.~$})*-])\/(?:root|work)\//g,
    fix: "use a relative path, ~ or an option",
  },
  {
    rule: "machine",
    // Tests place things in the homes of people who do not exist.
    pattern: /(?<![\w.~$})*-])\/(?:home|Users)\/[a-z]\w*\//gi,
    fix: "use a relative path, ~ or an option",
    where: "outside tests",
  },
  { rule: "machine", pattern: /(?<=["'`])\/tmp\b/g, fix: "use os.tmpdir()", where: "product" },
  {
    rule: "machine",
    pattern: /\b(?:registry\.(?:npmjs|yarnpkg)|(?:deb|security)\.debian)\.\w+/g,
    fix: "name no registry host",
  },
  {
    rule: "dialect",
    pattern: /\b(?:told|said|nobody|somebody|whoever|heard|mend(?:s|ed|ing)?)\b/gi,
    fix: "write a subject and a verb in the field's words: the client receives, no process owns, the fix is",
  },
];

export function checkWords(tree: Tree): Finding[] {
  return [
    ...[...tree.texts.values()].flatMap((file) => [...wordFindings(file), ...nameFindings(file.path)]),
    ...tree.sources.flatMap(fragmentFindings),
  ];
}

/** A doc comment that begins with one of these is half a sentence: it has lost its subject. */
const fragment =
  /^\*\s*(?:\*\s*)?(?:Of|For|In|With|Without|By|From|At|On|As|Under|Over|Behind|Beside|Beneath|Within|Between|Among|Against|Through|Per|Until|Since|Unless|Where|When|While|Whether)\b/;

function fragmentFindings({ path, text, comments }: SourceFile): Finding[] {
  return comments
    .filter(({ type, value }) => type === "Block" && fragment.test(value))
    .map(({ value, start }) => ({
      file: path,
      line: lineAt(text, start),
      rule: "words/fragment",
      message: `begins with "${value.replace(/^[\s*]+/, "").split(" ", 1)[0]}"`,
      fix: "begin with a verb or with the thing that it is about",
    }));
}

function wordFindings({ path, text }: TextFile): Finding[] {
  return bannedWords
    .filter(({ where }) => (where === "product" ? isProduct(path) : where === undefined || !isTestPath(path)))
    .flatMap(({ rule, pattern, fix }) =>
      [...text.matchAll(pattern)].map((match) => ({
        file: path,
        line: lineAt(text, match.index),
        rule: `words/${rule}`,
        message: `says "${match[0]}"`,
        fix,
      })),
    );
}

const emptyNames = /^(?:utils?|helpers?|managers?|services?|common|misc)$/i;

function nameFindings(path: string): Finding[] {
  const empty = path.split(/[/.\-_]/).find((part) => emptyNames.test(part));
  if (empty === undefined) return [];
  const message = `the name says "${empty}"`;
  return [{ file: path, line: 1, rule: "words/name", message, fix: "name the thing that it is" }];
}
