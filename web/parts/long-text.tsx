/** The beginning of a text that can have megabytes, such as the output of a tool. It can be shown further, or saved as a file. */
import { useState } from "preact/hooks";
import { bytes } from "./numbers.ts";

const firstCharacters = 4_000;
/** A part of this size is laid out only when it is in sight. */
const partCharacters = 40_000;
/** More than this is only saved: no person reads on, and the browser would hold it all. */
const shownMax = 2_000_000;

interface LongTextProps {
  text: string;
  /** Saves the whole text, of which `text` may be a part. */
  save(): void;
}

export function LongText({ text, save }: LongTextProps) {
  const [shown, setShown] = useState(firstCharacters);
  if (text === "") return null;
  const left = text.length - shown;
  const next = Math.min(shown * 10, shownMax);
  return (
    <>
      <pre class="output" tabIndex={0}>
        {partsOf(text.slice(0, shown)).map((part, at) => (
          <span key={at} class="output-part">
            {part}
          </span>
        ))}
      </pre>
      {left > 0 && (
        <p class="output-rest">
          {shown < shownMax && (
            <button type="button" class="quiet small" onClick={() => setShown(next)}>
              {next >= text.length ? "Show all" : "Show more"} ({bytes(left)} are left)
            </button>
          )}
          <button type="button" class="quiet small" onClick={save}>
            Save all of it
          </button>
        </p>
      )}
    </>
  );
}

/** Splits a text after lines, so that each part is laid out alone. */
function partsOf(text: string): string[] {
  const parts: string[] = [];
  for (let from = 0; from < text.length;) {
    const line = text.lastIndexOf("\n", from + partCharacters) + 1;
    const to = from + partCharacters >= text.length || line <= from ? from + partCharacters : line;
    parts.push(text.slice(from, to));
    from = to;
  }
  return parts;
}
