/** The texts of the measured conversations: random words, English prose, and source code as the results of tools. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { text400 } from "./instant-provider.ts";
import { Dice } from "./synthetic-source.ts";

const root = process.env.APTOVE_BENCH_ROOT ?? join(import.meta.dirname, "..");
const textCharacters = 400;
const resultBytesMin = 2_000;
const resultBytesMax = 30_000;

export type ContentKind = "words" | "prose";

/** Returns 400 characters. Each number gives another text. */
export function textOf(kind: ContentKind, side: "instruction" | "answer", n: number): string {
  if (kind === "words") return text400(`${side} ${n}`);
  const place = (2 * n + (side === "answer" ? 1 : 0)) * textCharacters;
  const prose = readProse();
  return prose.slice(place % (prose.length - textCharacters)).slice(0, textCharacters);
}

let prose = "";

/** Returns the running text of our documents and then of the comments of Node's types: 1.5 million characters. */
function readProse(): string {
  if (prose === "") {
    const documents = filesBelow("docs", ".md").map((file) =>
      file.replaceAll(/```.*?```/gs, "").replaceAll(/^\|.*$/gm, ""),
    );
    const types = filesBelow(join("node_modules", "@types", "node"), ".d.ts").flatMap(
      (file) => file.match(/\/\*\*.*?\*\//gs) ?? [],
    );
    const comments = types.map((comment) => comment.replaceAll(/^[ \t]*\/?\*+\/?/gm, "").replaceAll(/```.*?```/gs, ""));
    prose = [...documents, ...comments]
      .join("\n")
      .replaceAll(/[^\S\n]+/g, " ")
      .replaceAll(/\n{3,}/g, "\n\n");
  }
  return prose;
}

function filesBelow(folder: string, ending: string): string[] {
  const names = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
  return names
    .filter((name) => name.endsWith(ending))
    .toSorted()
    .map((name) => readFileSync(join(root, folder, name), "utf8"));
}

/** Yields pieces of our own sources, of 2 to 30 KB; small ones are more frequent. It begins again after all sources. */
export function* codePieces(): Generator<string, never, undefined> {
  const sources = filesBelow("src", ".ts").join("\n");
  const dice = new Dice(7);
  for (let at = 0; ;) {
    const size = Math.round(resultBytesMin * (resultBytesMax / resultBytesMin) ** dice.next());
    if (at + size > sources.length) at = 0;
    yield sources.slice(at, at + size);
    at += size;
  }
}
