/**
 * Simple colours for code, line by line: comments, strings, numbers, and the keywords that most languages share. It
 * parses no grammar, so it may be wrong in places. Code in an unknown language has no colours.
 */
import type { OutputStyle } from "../output.ts";

const slashes = new Set(
  "c cc cpp cs css csharp dart go h hpp java javascript js jsx kotlin kt php rs rust scala scss swift ts tsx typescript zig".split(
    " ",
  ),
);
const hashes = new Set(
  "bash dockerfile elixir ex fish make makefile nix perl pl py python r rb ruby sh shell tf toml yaml yml zsh".split(
    " ",
  ),
);
const dashes = new Set("haskell hs lua sql".split(" "));

const keywords = new Set(
  (
    "abstract and as async await break case catch class const continue def default defer delete do elif else end enum " +
    "except export extends extern false finally fn for foreach from func function go if impl implements import in " +
    "interface is lambda let local loop match mod module mut namespace new nil none not null or package pass private " +
    "protected pub public raise return select self static struct super switch then this throw trait true try type " +
    "typeof undefined union unless unsafe until use using var virtual void when where while with yield"
  ).split(" "),
);

/** Colours the lines of one block, in their order. */
export type PaintCode = (line: string) => string;

export function codeColours(language: string, style: OutputStyle): PaintCode {
  const name = language.toLowerCase();
  if (name === "diff" || name === "patch") return (line) => diffLine(line, style);
  if (name === "json" || name === "jsonc" || name === "json5") return wordColours(null, style);
  if (slashes.has(name)) return blockComments(wordColours("//", style), style);
  if (hashes.has(name)) return wordColours("#", style);
  return dashes.has(name) ? wordColours("--", style) : (line) => line;
}

/** Colours a line of a patch. */
export function diffLine(line: string, { green, red, cyan, bold }: OutputStyle): string {
  if (line.startsWith("+++") || line.startsWith("---")) return bold(line);
  if (line.startsWith("+")) return green(line);
  if (line.startsWith("-")) return red(line);
  return line.startsWith("@@") ? cyan(line) : line;
}

const strings = /"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|`(?:[^`\\]|\\.)*`?/.source;
const words = /[\p{L}_$][\p{L}\p{N}_$]*|\d[\d_.a-fxA-FX]*/u.source;

function wordColours(comment: string | null, { dim, green, yellow, magenta }: OutputStyle): PaintCode {
  const comments = comment === null ? "" : `(?:^|(?<=\\s|[;{})]))${comment}.*|`;
  const parts = new RegExp(`${comments}${strings}|${words}`, "gu");
  return (line) =>
    line.replaceAll(parts, (part) => {
      if (comment !== null && part.startsWith(comment)) return dim(part);
      if (/^["'`]/.test(part)) return green(part);
      if (/^\d/.test(part)) return yellow(part);
      return keywords.has(part) ? magenta(part) : part;
    });
}

/** Colours comments of several lines if they begin and end at the ends of lines, as most do. */
function blockComments(paint: PaintCode, { dim }: OutputStyle): PaintCode {
  let isInside = false;
  return (line) => {
    const text = line.trim();
    if (!isInside && !text.startsWith("/*")) return paint(line);
    isInside = !text.endsWith("*/");
    return dim(line);
  };
}
