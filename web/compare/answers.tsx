/** Two answers beside one another, block by block, with one scroll. Equal parts are folded, and on a phone they stand once. */
import { useSignal } from "@preact/signals";
import type { Token, Tokens } from "marked";
import { useMemo } from "preact/hooks";
import { Markdown, MarkdownBlock } from "../parts/markdown.tsx";
import { plural } from "../parts/numbers.ts";
import { answerRows, type AnswerRow } from "./answer-rows.ts";

/** Longer answers stand beside one another without marks. */
const comparedCharactersMax = 400_000;
/** So many equal blocks are shown before and after a change. */
const equalShown = 1;

export function Answers({ left, right }: { left: string; right: string }) {
  const isCompared = left.length + right.length <= comparedCharactersMax;
  const rows = useMemo(() => (isCompared ? answerRows(left, right) : []), [left, right]);
  if (!isCompared) {
    return (
      <>
        <p class="dim">The answers are too long to compare word by word.</p>
        <div class="two">
          <Markdown text={left} />
          <Markdown text={right} />
        </div>
      </>
    );
  }
  return (
    <div class="answer-rows markdown">
      {foldedRows(rows).map((part, at) =>
        Array.isArray(part) ? <Folded key={at} rows={part} /> : <Row key={at} row={part} />,
      )}
    </div>
  );
}

/** Puts the equal rows that are far from a change into lists. */
function foldedRows(rows: readonly AnswerRow[]): (AnswerRow | AnswerRow[])[] {
  const isNear = rows.map((_row, at) =>
    rows.slice(Math.max(0, at - equalShown), at + equalShown + 1).some(({ isSame }) => !isSame),
  );
  const parts: (AnswerRow | AnswerRow[])[] = [];
  for (const [at, row] of rows.entries()) {
    const last = parts.at(-1);
    if (isNear[at] === true) parts.push(row);
    else if (Array.isArray(last)) last.push(row);
    else parts.push([row]);
  }
  return parts;
}

function Folded({ rows }: { rows: AnswerRow[] }) {
  const isOpen = useSignal(rows.length < 2);
  if (isOpen.value) {
    return (
      <>
        {rows.map((row, at) => (
          <Row key={at} row={row} />
        ))}
      </>
    );
  }
  return (
    <button type="button" class="quiet folded" onClick={() => (isOpen.value = true)}>
      … {plural(rows.length, "equal part")}
    </button>
  );
}

function Row({ row: { isSame, left, right } }: { row: AnswerRow }) {
  return (
    <div class={isSame ? "answer-row same" : "answer-row"}>
      <Side token={left} name="Left" kind={isSame ? "" : "removed"} />
      <Side token={right} name="Right" kind={isSame ? "" : "added"} />
    </div>
  );
}

function Side({ token, name, kind }: { token: Token | null; name: string; kind: "" | "removed" | "added" }) {
  return (
    <div class={`answer-side ${kind}${token === null ? " none" : ""}`}>
      {kind !== "" && <span class="side-name">{name}</span>}
      {token === null && <span class="dim">nothing here</span>}
      {token !== null && (isMarkedCode(token) ? <MarkedCode token={token} /> : <MarkdownBlock token={token} />)}
    </div>
  );
}

type MarkedCodeToken = Tokens.Code & { flags: readonly boolean[] };

function isMarkedCode(token: Token): token is MarkedCodeToken {
  return token.type === "code" && "flags" in token;
}

function MarkedCode({ token: { text, flags } }: { token: MarkedCodeToken }) {
  return (
    <pre class="output" tabIndex={0}>
      {text.split("\n").map((line, at) => (flags[at] === true ? <mark key={at}>{`${line}\n`}</mark> : `${line}\n`))}
    </pre>
  );
}
