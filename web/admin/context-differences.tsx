/** What differs between two versions of a context: each field with its value before and after (U10). */
import { useMemo } from "preact/hooks";
import { WordDiff } from "../parts/word-diff.tsx";
import { Diff } from "../parts/diff.tsx";
import { fieldChanges, type FieldChange } from "./context-fields.ts";

interface DifferencesProps {
  before: unknown;
  after: unknown;
  /** What the two sides are called. */
  names: readonly [before: string, after: string];
}

export function ContextDifferences({ before, after, names }: DifferencesProps) {
  const changes = useMemo(() => fieldChanges(before, after), [before, after]);
  if (changes.length === 0) return <p class="dim">Nothing differs.</p>;
  return (
    <ul class="checks">
      {changes.map((change) => (
        <li key={change.field}>
          <code>{change.field}</code> {change.before === null && <span class="tag ok">only in {names[1]}</span>}
          {change.after === null && <span class="tag bad">only in {names[0]}</span>}
          <Change change={change} names={names} />
        </li>
      ))}
    </ul>
  );
}

/** A text of several lines is compared line by line, a short one word by word. */
function Change({
  change: { field, before, after },
  names,
}: {
  change: FieldChange;
  names: DifferencesProps["names"];
}) {
  const isLong = [before, after].some((text) => text?.includes("\n") === true);
  if (isLong) return <Diff path={`${field}: ${names.join(" → ")}`} oldText={before ?? ""} newText={after ?? ""} />;
  return (
    <dl class="facts">
      {before !== null && (
        <>
          <dt>{names[0]}</dt>
          <dd>
            <WordDiff from={after ?? before} to={before} />
          </dd>
        </>
      )}
      {after !== null && (
        <>
          <dt>{names[1]}</dt>
          <dd>
            <WordDiff from={before ?? after} to={after} />
          </dd>
        </>
      )}
    </dl>
  );
}
