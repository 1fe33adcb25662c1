/**
 * Words as search terms. The same function reads source, prose and questions, so that "where is the head moved" finds
 * `moveHead` and `head_moved`: identifiers are indexed whole and in parts, and every term is reduced to a stem. The terms of a
 * text are part of every index, so a change here needs a new format version of every index (local/index-file.ts).
 */

const wordPattern = /[\p{L}\p{N}\p{M}_]+/gu;
/** The maximum length of a word. Longer "words" are encoded data, not language. */
const wordCharactersMax = 64;

/** The cache of terms by word, because source repeats its words. It is emptied when full, so that it cannot grow without bound. */
const termsByWord = new Map<string, readonly string[]>();
const termsByWordMax = 65_536;

/** Returns every term of a text, in order and with repeats: letters and digits only, lower case, stemmed. */
export function termsOf(text: string): string[] {
  const terms: string[] = [];
  for (const match of text.matchAll(wordPattern)) terms.push(...termsOfWord(match[0]));
  return terms;
}

/** Returns the distinct terms of a question, without stop words unless there is nothing else. */
export function questionTerms(text: string): string[] {
  const terms = [...new Set(termsOf(text))];
  const telling = terms.filter((term) => !isStopTerm(term));
  return telling.length > 0 ? telling : terms;
}

/** Returns the whole term of every identifier in a question that has several parts: `moveHead` and `move_head` both give `movehead`. */
export function identifierTerms(text: string): string[] {
  const wholes = [...text.matchAll(wordPattern)].flatMap(([word]) => {
    const [whole, ...parts] = termsOfWord(word);
    return whole === undefined || parts.length === 0 ? [] : [whole];
  });
  return [...new Set(wholes)];
}

export function isStopTerm(term: string): boolean {
  return stopTerms.has(term);
}

function termsOfWord(word: string): readonly string[] {
  const known = termsByWord.get(word);
  if (known !== undefined) return known;
  const terms = word.length > wordCharactersMax ? [] : splitWord(word);
  if (termsByWord.size >= termsByWordMax) termsByWord.clear();
  termsByWord.set(word, terms);
  return terms;
}

/** Splits an identifier: `moveHead` and `move_head` give `movehead`, `mov`, `head`; `HTTPServer` gives `httpserver`, `http`, `server`. */
function splitWord(word: string): string[] {
  const parts = word
    .normalize("NFKC")
    .replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, "$1_$2")
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1_$2")
    .split(/[^\p{L}\p{N}\p{M}]+/u)
    .filter((part) => part !== "")
    .map((part) => part.toLowerCase());
  if (parts.length <= 1) return parts.map(stem);
  return [stem(parts.join("")), ...parts.map(stem)];
}

/**
 * Returns the stem of a word. It is a light stemmer for English: it joins `move`, `moves`, `moved` and `moving`, and leaves words
 * without a vowel before the ending (`string`). A stem need not be a word. It only has to be the same for all forms of a word.
 */
export function stem(word: string): string {
  if (word.length < 4 || !/^[a-z]+$/.test(word)) return word;
  let base = word;
  if (/(?:ies|ied)$/.test(base)) base = `${base.slice(0, -3)}y`;
  else if (/[^su]s$/.test(base)) base = base.slice(0, -1);
  const cut = base.replace(/(?:ing|ed)$/, "");
  if (cut !== base && cut.length >= 3 && /[aeiouy]/.test(cut)) base = undouble(cut);
  return base.length > 3 ? base.replace(/e$/, "") : base;
}

/** Removes a doubled last consonant: `stopp` from `stopped` becomes `stop`; `pass` and `call` keep their letters. */
function undouble(text: string): string {
  return text.replace(/([bdfgmnprt])\1$/, "$1");
}

const stopTerms = new Set(
  `a about above after again all also am an and any are as at be because been before being below between both but by can
could did do does doing done down during each else few for from further get gets give given had has have having he her
here hers him his how i if in into is it its itself just let like make makes many may me might more most much must my no
nor not now of off on once only or other our out over own please same shall she should show so some such tell than that
the their them then there these they this those through to too under until up upon us use used uses using very was we
were what when where which while who whom why will with would yet you your`
    .split(/\s+/)
    .map(stem),
);
