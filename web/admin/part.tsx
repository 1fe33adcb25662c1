/** What every part of the administration has: a list that loads, and actions that may be refused. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { wordsOf } from "../api/connection.ts";
import { useLoaded, type Loaded } from "../api/loading.ts";
import { FailedState, Loading } from "../parts/states.tsx";

/** Returns the list, and a function that runs an action and loads the list again. */
export function usePart<T>(key: string, read: () => Promise<T>) {
  const list = useLoaded(key, read);
  const [fault, setFault] = useState("");
  const act = async (action: () => Promise<unknown>): Promise<boolean> => {
    setFault("");
    try {
      await action();
      await list.load();
      return true;
    } catch (error) {
      setFault(wordsOf(error));
      return false;
    }
  };
  return { list, fault, act };
}

interface PartFrameProps<T> {
  list: Loaded<T>;
  fault: string;
  children: (value: T) => ComponentChildren;
}

export function PartFrame<T>({ list: { value, failed, load }, fault, children }: PartFrameProps<T>) {
  const known = value.value;
  return (
    <>
      {fault !== "" && (
        <p class="notice fail" role="alert">
          {fault}
        </p>
      )}
      {known === null && failed.value === null && <Loading lines={5} />}
      {known === null && failed.value !== null && <FailedState failed={failed.value} retry={() => void load()} />}
      {known !== null && children(known)}
    </>
  );
}

/** The names of the columns for the styles, which show a row as a card where a table has no room. */
function labelsOf(head: readonly string[]): Record<string, string> {
  return Object.fromEntries(head.map((one, at) => [`--column-${at + 1}`, JSON.stringify(one)]));
}

export function Table({
  caption,
  head,
  children,
}: {
  caption: string;
  head: readonly string[];
  children: ComponentChildren;
}) {
  return (
    <div class="scroll-x" tabIndex={0} role="region" aria-label={caption}>
      <table class="plain-table card-table" style={labelsOf(head)}>
        <caption class="spoken">{caption}</caption>
        <thead>
          <tr>
            {head.map((one) => (
              <th key={one} scope="col">
                {one === "" ? <span class="spoken">Actions</span> : one}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

/** A button that asks once more before it does what cannot be undone. */
export function SureButton({ label, run }: { label: string; run: () => void }) {
  const [isSure, setSure] = useState(false);
  return (
    <button
      type="button"
      class={isSure ? "danger small" : "small"}
      onBlur={() => setSure(false)}
      onClick={() => (isSure ? run() : setSure(true))}
    >
      {isSure ? `${label}: are you sure?` : label}
    </button>
  );
}
