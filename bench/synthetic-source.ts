/**
 * Generated source code: TypeScript, Python, Go and Markdown with functions, comments and identifiers made
 * of words that are as unevenly common as real ones (Zipf). The same seed gives the same text.
 */
const languages = ["ts", "py", "go", "md"] as const;
type Language = (typeof languages)[number];

/** Some 1,500 words: every noun of the list, alone and with each ending. */
const roots =
  `account address archive balance batch blob border branch buffer bundle cache cargo chain channel chunk circle
client cluster column commit config context cursor daemon depth device digest domain driver edge editor engine entry event
export factory field filter flow folder frame gate graph grid group handle harbour head header history import index input
item journal kernel label lamp layer lease ledger level limit line link list lock log loop market matrix memory merge
message meter mirror model module moment network node number object offset order origin output owner packet page parent
path patch payload peer pipe plan point policy pool port price proof queue range rate reader record region relay report
request reserve result retry ring root route rule runner scale schema scope search season section segment sensor sequence
server session shard signal sink slot socket source span stack stage state station step store stream string summary switch
table target task tenant thread ticket tide timer token topic trace track tree turn unit usage user value vector vessel
view volume wall wave weight window worker writer zone`.split(/\s+/);
const endings = ["", "s", "er", "ing", "ed", "able", "less"];
const words = endings.flatMap((ending) => roots.map((root) => root + ending));

/** A small seeded random number generator (mulberry32). */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b_79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  /** The n-th word of the list comes up about n times less often than the first. */
  word(): string {
    const place = Math.floor(words.length ** this.next()) - 1;
    return words[place] ?? "value";
  }

  words(count: number): string {
    return Array.from({ length: count }, () => this.word()).join(" ");
  }

  /** Returns a name in camel case, usually of three words. */
  name(): string {
    const [first = "a", ...rest] = Array.from({ length: 2 + this.below(3) }, () => this.word());
    return first + rest.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
  }
}

/** Returns a file of about `bytes` bytes, with definitions or sections of about `partBytes` each. */
function syntheticFile(
  dice: Dice,
  language: Language,
  { bytes, partBytes }: { bytes: number; partBytes: number },
): string {
  const parts: string[] = language === "go" ? [`package ${dice.word()}\n`] : [];
  for (let size = 0; size < bytes;) {
    const part = syntheticPart(dice, language, partBytes);
    parts.push(part);
    size += part.length + 1;
  }
  return parts.join("\n");
}

function syntheticPart(dice: Dice, language: Language, bytes: number): string {
  const lines: string[] = [];
  const fill = (line: () => string): string => {
    for (let size = 0; size < bytes - 150; size += lines.at(-1)?.length ?? 0) lines.push(line());
    return lines.join("\n");
  };
  const [name, comment] = [dice.name(), dice.words(10)];
  switch (language) {
    case "ts":
      return `/** ${comment}. */\nexport function ${name}(${dice.name()}: string): number {\n${fill(() => statement(dice, "  const ", ";"))}\n}\n`;
    case "py":
      return `# ${comment}\ndef ${snake(name)}(${snake(dice.name())}):\n${fill(() => snake(statement(dice, "    ", "")))}\n`;
    case "go":
      return `// ${comment}.\nfunc ${name}(${dice.name()} string) int {\n${fill(() => statement(dice, "\t", "").replace("=", ":="))}\n}\n`;
    case "md":
      return `## ${comment}\n\n${fill(() => `${dice.words(14)}.`)}\n`;
  }
}

function statement(dice: Dice, start: string, end: string): string {
  return `${start}${dice.name()} = ${dice.name()}.${dice.name()}(${dice.name()}, ${dice.below(1_000)})${end}`;
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Yields the files of a whole tree of about `bytes` bytes. */
export function* syntheticTree(
  dice: Dice,
  size: { bytes: number; fileBytes: number; partBytes: number },
): Generator<[path: string, text: string]> {
  for (let [count, done] = [0, 0]; done < size.bytes; count += 1) {
    const language = languages[count % languages.length] ?? "ts";
    // Real trees have many small files and a few large ones.
    const bytes = size.fileBytes * (0.3 + 1.4 * dice.next());
    const text = syntheticFile(dice, language, { bytes, partBytes: size.partBytes });
    yield [`src/${dice.word()}/${dice.word()}-${count}.${language}`, text];
    done += text.length;
  }
}
