/** Names of files behind an `@` in the instruction (U4): a list of the indexed files that the person may mean. */
import { useSignal, type Signal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";
import { client } from "../api/connection.ts";
import { shownText } from "../parts/shown-text.ts";

interface Names {
  /** The paths to choose from. Empty: there is no list. */
  paths: Signal<readonly string[]>;
  /** The place in the list that Enter takes. */
  at: Signal<number>;
  pick(path: string): void;
  /** Returns true if the key belonged to the list. */
  onKey(event: KeyboardEvent): boolean;
}

/** The part of a path that is being typed: behind an `@` at the start or after a space, up to the cursor. */
const typedPart = /(?:^|\s)@([^\s@]*)$/;

export function useFileNames(
  field: RefObject<HTMLTextAreaElement | null>,
  { draft, repos }: { draft: Signal<string>; repos: readonly string[] },
): Names {
  const paths = useSignal<readonly string[]>([]);
  const at = useSignal(0);
  const part = partAt(field.current, draft.value);
  useEffect(() => {
    at.value = 0;
    if (part === null) {
      paths.value = [];
      return;
    }
    let isCurrent = true;
    void filesOf(repos, part).then((found) => isCurrent && (paths.value = found));
    return () => (isCurrent = false) as never;
  }, [part, repos.join()]);
  const pick = (path: string): void => {
    const element = field.current;
    if (element === null) return;
    const before = element.value.slice(0, element.selectionStart).replace(/[^\s@]*$/, `${path} `);
    draft.value = before + element.value.slice(element.selectionStart);
    paths.value = [];
    requestAnimationFrame(() => element.setSelectionRange(before.length, before.length));
    element.focus();
  };
  const onKey = (event: KeyboardEvent): boolean => {
    const { length } = paths.value;
    if (length === 0 || event.isComposing) return false;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      at.value = (at.value + (event.key === "ArrowDown" ? 1 : length - 1)) % length;
    } else if (event.key === "Enter" || event.key === "Tab") pick(paths.value[at.value] ?? "");
    else if (event.key === "Escape") paths.value = [];
    else return false;
    event.preventDefault();
    return true;
  };
  return { paths, at, pick, onKey };
}

/**
 * Returns the files whose path has this part, those that fit best first. With several repositories, each path has the name of its
 * own in front (M7), and a part that begins with a name is for that repository alone.
 */
async function filesOf(repos: readonly string[], part: string): Promise<string[]> {
  const named = repos.find((repo) => part.startsWith(`${repo}:`));
  const asked = (named === undefined ? repos : [named]).map(async (repo) => {
    const of = { repo, part: named === undefined ? part : part.slice(repo.length + 1) };
    // A repository whose files cannot be listed offers none; the instruction can be written all the same.
    const found = await client.indexedFiles(of).catch(() => []);
    return found.map((path, rank) => ({ rank, path: repos.length > 1 ? `${repo}:${path}` : path }));
  });
  const all = (await Promise.all(asked)).flat().toSorted((a, b) => a.rank - b.rank);
  return all.slice(0, 8).map(({ path }) => path);
}

function partAt(element: HTMLTextAreaElement | null, text: string): string | null {
  const cursor = element === null ? text.length : element.selectionStart;
  return typedPart.exec(text.slice(0, cursor))?.[1] ?? null;
}

export function FileNames({ names }: { names: Names }) {
  const { paths, at, pick } = names;
  if (paths.value.length === 0) return null;
  return (
    <ul class="file-names" id="file-names" role="listbox" aria-label="Files">
      {paths.value.map((path, index) => (
        <li
          key={path}
          id={`file-name-${index}`}
          role="option"
          aria-selected={index === at.value}
          onMouseDown={(event) => {
            // The field keeps the focus.
            event.preventDefault();
            pick(path);
          }}
        >
          <bdi>{shownText(path)}</bdi>
        </li>
      ))}
    </ul>
  );
}
