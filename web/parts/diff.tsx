/** A change of a file, line by line. A very long one is shown in parts. */
import { useMemo, useState } from "preact/hooks";
import { changeOf, type DiffLine } from "./diff-lines.ts";
import { count } from "./numbers.ts";
import { shownText } from "./shown-text.ts";

const linesMax = 400;
const signs: Record<DiffLine["kind"], string> = { added: "+", removed: "−", same: " ", gap: "…" };
const words: Record<string, string> = { added: "added", removed: "removed" };

interface DiffProps {
  path: string;
  oldText: string | null;
  newText: string;
}

export function Diff({ path, oldText, newText }: DiffProps) {
  const { lines, added, removed } = useMemo(() => changeOf(oldText, newText), [oldText, newText]);
  const [shown, setShown] = useState(linesMax);
  return (
    <figure class="diff">
      <figcaption>
        <bdi class="path">{shownText(path)}</bdi>
        {oldText === null && <span class="tag">new file</span>}
        <span class="plus">+{count(added)}</span>
        <span class="minus">−{count(removed)}</span>
      </figcaption>
      <div class="scroll-x" tabIndex={0} role="group" aria-label={`Change of ${path}`}>
        <table>
          <tbody>
            {lines.slice(0, shown).map((line, at) => (
              <tr key={at} class={line.kind}>
                <td class="number">{line.before}</td>
                <td class="number">{line.after}</td>
                <td class="sign">
                  <span aria-hidden="true">{signs[line.kind]}</span>
                  {words[line.kind] !== undefined && <span class="spoken">{words[line.kind]}</span>}
                </td>
                <td class="text">{shownText(line.text)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {lines.length > shown && (
        <button type="button" class="quiet" onClick={() => setShown(shown + linesMax)}>
          Show more ({count(lines.length - shown)} lines are left)
        </button>
      )}
    </figure>
  );
}
