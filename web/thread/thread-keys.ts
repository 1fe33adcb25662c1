/**
 * The keys of a conversation, which the palette lists too. A letter may begin a text whose field has lost the focus. So letters move and
 * open things: none runs a turn or stores anything by itself, and `f`, which gives what follows a field, needs a chosen turn.
 */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { mayWrite } from "../api/connection.ts";
import type { ListedTurn, Thread } from "../api/thread.ts";
import { viewCommands, type Command } from "../app/palette.tsx";
import { spoken } from "../app/status.tsx";
import { navigate, pathTo, route } from "../routes.ts";
import { namedTurn } from "./turn-name.tsx";
import { runAgainAsked } from "./run-again-asked.ts";
import { markedTurn } from "./marked-turn.ts";
import { actionFault, forkAt } from "./turn-actions.ts";

interface ThreadKeys {
  /** The turn that the address names, else the one that was chosen by keys. */
  shown: string | null;
  /** Takes the choice by keys back. */
  forget(): void;
}

export function useThreadKeys(thread: Thread): ThreadKeys {
  const chosen = useSignal<string | null>(null);
  useEffect(() => {
    const shown = (): string | null => shownTurn() ?? chosen.value;
    const choose = ({ id: turn, sequence }: ListedTurn): void => {
      chosen.value = turn;
      spoken.value = `Turn ${sequence}`;
      if (beside() === "tree") navigate(pathTo("turn", { session: thread.id, turn: "tree" }, { at: turn }));
      else if (beside() !== null) openTurn(thread, turn);
    };
    const close = (): void => {
      chosen.value = beside() === null ? null : shown();
      if (beside() !== null) navigate(pathTo("session", { session: thread.id }));
    };
    viewCommands.value = [
      ...moves(thread, shown, choose),
      { label: "Close the inspector", keys: "Escape", run: close },
      ...actions(thread, shown),
    ];
  }, [thread]);
  return { shown: shownTurn() ?? chosen.value, forget: () => void (chosen.value = null) };
}

/** What the address shows beside the conversation: the inspector of a turn, `tree`, or nothing. */
function beside(): string | null {
  return route.value.params["turn"] ?? null;
}

/** The turn that the address names. That of the tree can name one which the conversation shows beside it. */
function shownTurn(): string | null {
  return beside() === "tree" ? route.value.query.get("at") : beside();
}

/** The turn that a key is for, as it is when the key is pressed: keys can follow faster than the view is drawn. */
type Shown = () => string | null;

function moves(thread: Thread, shown: Shown, choose: (turn: ListedTurn) => void): Command[] {
  const move = (step: number): void => {
    const path = thread.path.value;
    const at = path.findIndex(({ id }) => id === shown());
    const next = at === -1 ? path.at(-1) : path[at + step];
    if (next !== undefined) choose(next);
  };
  return [
    { label: "Next turn", keys: "j", run: () => move(1) },
    { label: "Previous turn", keys: "k", run: () => move(-1) },
  ];
}

function actions(thread: Thread, shown: Shown): Command[] {
  /** The action is for the shown turn, else for the last one. */
  const on = (run: (turn: ListedTurn) => void) => (): void => {
    const turn = thread.turns.value.get(shown() ?? thread.path.value.at(-1)?.id ?? "");
    if (turn !== undefined) run(turn);
  };
  const askAgain = (turn: ListedTurn): void => {
    if (turn.status !== "pending") runAgainAsked.value = { thread, turn, file: null };
  };
  const fork = (): void => {
    const turn = shown();
    actionFault.value = null;
    if (turn === null) actionFault.value = "Choose the turn at which the fork begins first: j and k do that.";
    else forkAt(thread, turn);
  };
  const writes: Command[] = [
    { label: "Fork here", keys: "f", run: fork },
    { label: "Run again with …", keys: "r", run: on(askAgain) },
    { label: "Name the turn", keys: "F2", run: on(({ id }) => void (namedTurn.value = id)) },
  ];
  return [
    { label: "What the turn saw", keys: "Enter", run: on(({ id }) => openTurn(thread, id)) },
    ...(mayWrite.value ? writes : []),
    { label: "Actions of the turn", keys: ".", run: on(openMenu) },
    { label: "Mark the turn", keys: "m", run: on(({ id }) => void (markedTurn.value = id)) },
    { label: "Compare with the marked turn", keys: "c", run: on(compareWithMarked) },
  ];
}

function openTurn({ id: session }: Thread, turn: string): void {
  navigate(pathTo("turn", { session, turn }));
}

/** The menu belongs to the article of the turn. */
function openMenu({ id }: ListedTurn): void {
  document.querySelector<HTMLElement>(`#turn-${CSS.escape(id)} [aria-haspopup=menu]`)?.click();
}

function compareWithMarked({ id, sequence }: ListedTurn): void {
  const marked = markedTurn.value;
  actionFault.value = null;
  if (marked === null) actionFault.value = "No turn is marked. Choose one with j and k, and press m.";
  else if (marked === id)
    actionFault.value = `Turn ${sequence} is the marked turn itself. Choose another one with j and k, and press c.`;
  else navigate(pathTo("compare", { a: marked, b: id }));
}
