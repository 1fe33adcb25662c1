/** What was gathered for the model, above the answer: chunks and files, each opens to its lines in the inspector's manner. */
import type { GivenContext } from "../api/turn-view.ts";
import { plural } from "../parts/numbers.ts";
import { shownText } from "../parts/shown-text.ts";

export function Given({ given: { chunks, files, historyTurns, rules = [], facts = [] } }: { given: GivenContext }) {
  const sent = chunks.filter(({ wasSent }) => wasSent);
  if (chunks.length + files.length === 0) return null;
  const words = [
    chunks.length > 0 && plural(sent.length, "chunk"),
    files.length > 0 && plural(files.length, "file"),
    historyTurns > 0 && `${plural(historyTurns, "turn")} of history`,
    facts.length > 0 && plural(facts.length, "fact"),
    rules.length > 0 && plural(rules.length, "rule file"),
  ].filter((one) => one !== false);
  return (
    <details class="given">
      <summary>Given to the model: {words.join(", ")}</summary>
      <ul>
        {chunks.map(({ id, path, startLine, endLine, wasSent }) => (
          <li key={id} class={wasSent ? "" : "dim"}>
            <bdi class="path">{shownText(path)}</bdi>{" "}
            <span class="numbers">
              {startLine}–{endLine}
            </span>
            {!wasSent && " already there"}
          </li>
        ))}
        {files.map(({ path, wasSent, wasTooLarge }) => (
          <li key={path} class={wasSent ? "" : "dim"}>
            <bdi class="path">{shownText(path)}</bdi>{" "}
            {wasTooLarge ? "too large" : wasSent ? "whole file" : "already there"}
          </li>
        ))}
      </ul>
    </details>
  );
}
