/** The keys of a conversation, which the palette lists too. */
import { useEffect } from "preact/hooks";
import type { Thread } from "../api/thread.ts";
import { viewCommands } from "../app/palette.tsx";
import { navigate, pathTo } from "../routes.ts";
import { namedTurn } from "./turn-name.tsx";
import { runAgainAsked } from "./run-again-asked.ts";
import { markedTurn } from "./marked-turn.ts";
import { forkAt, runAgain } from "./turn-actions.ts";

export function useThreadKeys(thread: Thread, selected: string | null): void {
  useEffect(() => {
    const open = (turn: string | null): void =>
      navigate(
        turn === null ? pathTo("session", { session: thread.id }) : pathTo("turn", { session: thread.id, turn }),
      );
    /** The selected turn, else the last one. */
    const chosen = (): string | null => selected ?? thread.path.value.at(-1)?.id ?? null;
    const move = (step: number): void => {
      const path = thread.path.value;
      const at = path.findIndex(({ id }) => id === selected);
      const next = at === -1 ? path.at(-1) : path[at + step];
      if (next !== undefined) open(next.id);
    };
    const onChosen = (run: (turn: string) => void) => (): void => {
      const turn = chosen();
      if (turn !== null) run(turn);
    };
    const askAgain = (id: string): void => {
      const turn = thread.turns.value.get(id);
      if (turn !== undefined && turn.status !== "pending") runAgainAsked.value = { thread, turn, file: null };
    };
    viewCommands.value = [
      { label: "Write", keys: "/", run: () => document.getElementById("composer")?.focus() },
      { label: "Next turn", keys: "j", run: () => move(1) },
      { label: "Previous turn", keys: "k", run: () => move(-1) },
      { label: "What the turn saw", keys: "Enter", run: onChosen(open) },
      { label: "Close the inspector", keys: "Escape", run: () => open(null) },
      { label: "Fork here", keys: "f", run: onChosen((turn) => forkAt(thread, turn)) },
      { label: "Run again", keys: "r", run: onChosen((turn) => void runAgain(thread, turn)) },
      { label: "Run again with …", keys: "R", run: onChosen(askAgain) },
      { label: "Name the turn", keys: "n", run: onChosen((turn) => void (namedTurn.value = turn)) },
      { label: "Actions of the turn", keys: ".", run: onChosen(openMenu) },
      { label: "Mark the turn", keys: "m", run: onChosen((turn) => void (markedTurn.value = turn)) },
      {
        label: "Compare with the marked turn",
        keys: "c",
        run: onChosen((turn) => {
          if (markedTurn.value !== null) navigate(pathTo("compare", { a: markedTurn.value, b: turn }));
        }),
      },
    ];
  }, [thread, selected]);
}

/** The menu belongs to the article of the turn. */
function openMenu(turn: string): void {
  document.querySelector<HTMLElement>(`#turn-${CSS.escape(turn)} [aria-haspopup=menu]`)?.click();
}
