/** A text with the words marked that another one does not have. */
import { diffWordsWithSpace } from "diff/lib/diff/word.js";
import { useMemo } from "preact/hooks";

const comparedCharactersMax = 60_000;

export function WordDiff({ from, to }: { from: string; to: string }) {
  const parts = useMemo(
    () =>
      from.length + to.length > comparedCharactersMax ? [{ value: to, added: false }] : diffWordsWithSpace(from, to),
    [from, to],
  );
  return (
    <div class="word-diff">
      {parts
        .filter((part) => !("removed" in part && part.removed))
        .map(({ value, added }, at) => (added ? <ins key={at}>{value}</ins> : value))}
    </div>
  );
}
