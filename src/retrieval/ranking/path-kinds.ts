/**
 * What a file is for, by its path (Q3). Tests, documents, examples and data repeat the words of the code that they are about, and often
 * the question itself, so by words alone they would rank first. A question means the code, unless it says otherwise.
 */
import { questionTerms, stem, termsOf } from "../terms.ts";

export type PathKind = "code" | "tests" | "examples" | "docs" | "data";

interface KindRule {
  kind: PathKind;
  path: RegExp;
  /** The words of a first line that ask for such files. */
  words: ReadonlySet<string>;
}

function stems(words: string): ReadonlySet<string> {
  return new Set(words.split(/\s+/).map(stem));
}

/** The first rule that matches counts. A file that no rule matches is code. */
const rules: readonly KindRule[] = [
  {
    kind: "tests",
    path: /(?:^|\/)(?:tests?|__tests__|specs?|testing|fixtures?|testdata|e2e|[\w-]+[-_]tests?|tests?[-_][\w-]+)\/|(?:^|\/)(?:test_[^/]*|conftest|[^/]*_test|tests?)\.[a-z]+$|[._-](?:tests?|spec|test-d)\.[a-z]+$|Tests?\.(?:java|kt|cs|php|swift)$/i,
    words: stems("test tests testing spec fixture mock coverage flaky e2e"),
  },
  {
    kind: "examples",
    path: /(?:^|\/)(?:examples?|bench(?:marks?)?|playground|demos?|samples?)\//i,
    words: stems("example benchmark bench playground demo sample"),
  },
  {
    kind: "docs",
    path: /(?:^|\/)(?:docs?|\.changeset|locales?|i18n|news|www|website)\/|\.(?:md|mdx|rst|txt|adoc|po|pot|tex)$|(?:^|\/)(?:changes|changelog|authors|licen[cs]e|readme|news|contributors)[^/]*$/i,
    words: stems(
      `doc docs document documentation readme changelog guide tutorial faq contributing website translation locale sponsor
sponsorship badge typo grammar grammatical wording spelling instruction`,
    ),
  },
  {
    kind: "data",
    path: /(?:^|\/)\.github\/|\.(?:json|jsonc|ya?ml|toml|ini|cfg|xml|csv|svg|html|css|scss|less|sass)$/i,
    words: stems("ci workflow config configuration json yaml toml package css style html template action issue"),
  },
];

/** A first line that is about tests, and does not only mention them. */
const aboutTests =
  /^\W*tests?\b|\b(?:add|adds|added|fix|fixes|fixed|update|improve|more|failing|broken|flaky|skip|disable|unit|regression|missing|new)\s+(?:[\w-]+\s+){0,2}tests?\b(?!\s+(?:client|runner|server|util))/i;
const aboutDocs = /^\W*docs?\b|\b(?:readme|changelog|documentation|docs|faq|contributing|website|tutorial|guide)\b/i;

export function kindOfPath(path: string): PathKind {
  return rules.find((rule) => rule.path.test(path))?.kind ?? "code";
}

/** A name of one word is too common to be meant: `assert.rst` and a question about `assert`. */
const namingTermsMin = 2;

/** Returns whether the terms have all words of the file's name, as those of "update the release process" for `release_process.md`. */
export function isNamedBy(path: string, terms: ReadonlySet<string>): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1).replace(/\..*$/, "");
  const words = name.split(/[^\p{L}\p{N}]+/u).flatMap((word) => termsOf(word));
  return words.length >= namingTermsMin && words.every((term) => terms.has(term));
}

/** Returns the kinds of files that the first line of a question asks for, and those that it is about. */
export function askedKinds(title: string): { asks: ReadonlySet<PathKind>; isAbout: ReadonlySet<PathKind> } {
  const terms = questionTerms(title);
  const asks = rules.filter(({ words }) => terms.some((term) => words.has(term))).map(({ kind }) => kind);
  const isAbout: PathKind[] = [];
  if (aboutTests.test(title)) isAbout.push("tests");
  if (aboutDocs.test(title)) isAbout.push("docs");
  return { asks: new Set(asks), isAbout: new Set(isAbout) };
}
