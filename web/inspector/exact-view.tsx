/** A request or response as rows that open: what is new since the request before is marked. */
import { useSignal } from "@preact/signals";
import { useState } from "preact/hooks";
import { Marked } from "../parts/code.tsx";
import { plural, short } from "../parts/numbers.ts";
import { shownText } from "../parts/shown-text.ts";
import type { BodyPart } from "./exact-parts.ts";

const shownAtFirst = 100;
const shownCharactersMax = 200_000;

export function ExactView({ parts }: { parts: readonly BodyPart[] }) {
  const shown = useSignal(shownAtFirst);
  // What is new stands at the end of a long history, so the end is shown.
  const hidden = Math.max(0, parts.length - shown.value);
  return (
    <>
      {hidden > 0 && (
        <button type="button" class="quiet small" onClick={() => (shown.value += 500)}>
          {plural(hidden, "earlier part")}
        </button>
      )}
      <ul class="exact-parts">
        {parts.slice(hidden).map((part, at) => (
          <li key={hidden + at} class={part.isNew === true ? "new" : ""}>
            <Part part={part} />
          </li>
        ))}
      </ul>
    </>
  );
}

function Part({ part: { name, brief, characters, isNew, text } }: { part: BodyPart }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <code>{name}</code>
        {isNew === true && <span class="tag ok">new</span>}
        <span class="numbers dim">{short(characters)}</span>
        <span class="exact-brief dim">{shownText(brief)}</span>
      </summary>
      {isOpen && <Whole text={text()} language="json" />}
    </details>
  );
}

/** A text that is longer than a page can hold ends with a remark. */
export function Whole({ text, language }: { text: string; language: string }) {
  const left = text.length - shownCharactersMax;
  return (
    <pre class="output exact" tabIndex={0}>
      <Marked text={text.slice(0, shownCharactersMax)} language={language} />
      {left > 0 && `\n… ${plural(left, "more character")}; save it to see all`}
    </pre>
  );
}
