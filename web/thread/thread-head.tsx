/** The head of a conversation: its name, where it works, and what can be done with the whole session. */
import { signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { WireSession } from "../../src/client/client.ts";
import { client, mayWrite, wordsOf } from "../api/connection.ts";
import { look } from "../api/live.ts";
import type { Thread } from "../api/thread.ts";
import { Menu, type MenuItem } from "../parts/menu.tsx";
import { count, money, plural } from "../parts/numbers.ts";
import { shownText } from "../parts/shown-text.ts";
import { saveFile } from "../parts/save-file.ts";
import { navigate, pathTo } from "../routes.ts";
import { repositoriesOf } from "./choices.ts";
import { actionFault } from "./turn-actions.ts";

const isNaming = signal(false);

/** Returns the tokens of the session as far as they are known. Null: there are none yet. */
function tokenWords({ tokensTotal, hasUncountedTokens }: WireSession): string | null {
  if (tokensTotal === 0) return hasUncountedTokens ? "tokens unknown" : null;
  return `${hasUncountedTokens ? "at least " : ""}${count(tokensTotal)} tokens`;
}

export function ThreadHead({ thread }: { thread: Thread }) {
  const session = thread.session.value;
  if (session === null) return <header class="thread-head" />;
  const { name, conversationContextName, conversationContextId, turnCount, costUsd } = session;
  const facts = [
    repositoriesOf(session).join(", ") || null,
    session.model ?? conversationContextName ?? conversationContextId,
    plural(turnCount, "turn"),
    tokenWords(session),
    costUsd > 0 && money(costUsd),
    session.isPublic && "public in the org",
    session.isDraft && "draft",
  ].filter((one) => typeof one === "string");
  const words = facts.map((one) => shownText(one)).join(" · ");
  return (
    <header class="thread-head">
      <a class="button quiet back" href={pathTo("sessions")} aria-label="Back to the sessions">
        ←
      </a>
      <div class="thread-title">
        {isNaming.value ? (
          <NameField thread={thread} />
        ) : (
          <h1 title={name}>
            <bdi>{shownText(name)}</bdi>
          </h1>
        )}
        <p class="dim numbers" title={words}>
          {words}
        </p>
      </div>
      <a class="button quiet" href={pathTo("turn", { session: thread.id, turn: "tree" })}>
        Tree
      </a>
      <Menu label="Actions of the session" items={itemsOf(thread)} class="quiet icon-button">
        ⋯
      </Menu>
    </header>
  );
}

function NameField({ thread }: { thread: Thread }) {
  const field = useRef<HTMLInputElement>(null);
  const save = async (): Promise<void> => {
    isNaming.value = false;
    const name = field.current?.value.trim() ?? "";
    if (name !== "") await act(thread, () => client.sessions.update(thread.id, { name }));
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <input
        ref={field}
        aria-label="Name of the session"
        defaultValue={thread.session.value?.name ?? ""}
        onBlur={() => void save()}
        onKeyDown={({ key }) => key === "Escape" && (isNaming.value = false)}
      />
    </form>
  );
}

async function act(thread: Thread, action: () => Promise<unknown>): Promise<void> {
  try {
    await action();
    await Promise.all([thread.load(), look()]);
  } catch (error) {
    actionFault.value = wordsOf(error);
  }
}

function itemsOf(thread: Thread): MenuItem[] {
  const { sessions } = client;
  const { id } = thread;
  const session = thread.session.value;
  const name = session?.name ?? "session";
  const read: MenuItem[] = [
    {
      label: "Save as Markdown",
      run: () => void act(thread, async () => saveFile(`${name}.md`, await sessions.markdown(id))),
    },
    {
      label: "Export",
      run: () =>
        void act(thread, async () => saveFile(`${name}.jsonl`, await new Response(await sessions.export(id)).blob())),
    },
    { label: "Check the digests", run: () => void verify(id) },
  ];
  if (!mayWrite.value || session === null) return read;
  const isArchived = session.archivedAt !== null;
  return [
    { label: "Rename", run: () => (isNaming.value = true) },
    { label: "Undo the last turn", run: () => void act(thread, () => sessions.undo(id)) },
    {
      label: session.isPublic ? "Make it private" : "Share with the org",
      run: () => void act(thread, () => sessions.share(id, { isPublic: !session.isPublic })),
    },
    ...read,
    {
      label: isArchived ? "Unarchive" : "Archive",
      run: () => void act(thread, () => (isArchived ? sessions.unarchive(id) : sessions.archive(id))),
    },
    {
      label: "Remove",
      run: () => void act(thread, async () => (await sessions.remove(id), navigate(pathTo("sessions")))),
    },
  ];
}

async function verify(id: string): Promise<void> {
  const { turnsChecked, fault } = await client.sessions.verify(id);
  actionFault.value =
    fault === null ? `The digests of ${plural(turnsChecked, "turn")} hold.` : `Turn ${fault.sequence}: ${fault.reason}`;
}
