/** The workspaces of the server (U10, W1): their devices, their last use, and how each conversation stands. */
import { useSignal } from "@preact/signals";
import type { WireWorkspace } from "../../src/client/client.ts";
import { client, isAdmin } from "../api/connection.ts";
import { Empty } from "../parts/states.tsx";
import { bytes, plural } from "../parts/numbers.ts";
import { shownText } from "../parts/shown-text.ts";
import { Time } from "../parts/time.tsx";
import { navigate, pathTo } from "../routes.ts";
import { PartFrame, Table, usePart } from "./part.tsx";

/** A long list is shown in parts. */
const shownMax = 100;

export function Workspaces() {
  const { list, fault, act } = usePart("workspaces", () => client.workspaces.list());
  const shown = useSignal(shownMax);
  return (
    <PartFrame list={list} fault={fault}>
      {(workspaces) => (
        <>
          {isAdmin.value && (
            <NewWorkspace
              create={(name) =>
                act(async () => {
                  const { id } = await client.workspaces.create(name === "" ? {} : { name });
                  navigate(pathTo("workspace", { workspace: id }));
                })
              }
            />
          )}
          {workspaces.length > 0 && (
            <Table caption="Workspaces" head={["Name", "Last used", "Devices", "Conversation", "Provider"]}>
              {workspaces.slice(0, shown.value).map((workspace) => (
                <WorkspaceRow key={workspace.id} workspace={workspace} />
              ))}
            </Table>
          )}
          {workspaces.length > shown.value && (
            <button type="button" onClick={() => (shown.value += shownMax)}>
              Show more
            </button>
          )}
          {workspaces.length === 0 && (
            <Empty action={<a href={pathTo("adminPart", { part: "devices" })}>Pair a device</a>}>
              There is no workspace yet that you may use. A workspace keeps the conversation, the permissions and the
              memory of one device or editor. It is made when you pair a device, or when you run{" "}
              <code>aptove chat</code> on the server's machine
              {isAdmin.value && ", or when you give it a name above"}.
            </Empty>
          )}
        </>
      )}
    </PartFrame>
  );
}

/** A workspace without a name is known by the end of its id, as in the terminal. */
export function nameOf({ id, name }: Pick<WireWorkspace, "id" | "name">): string {
  return name === null ? id.slice(-8) : shownText(name);
}

function WorkspaceRow({ workspace }: { workspace: WireWorkspace }) {
  const { id, name, lastAccessedAt, devices, provider, damage, transcript } = workspace;
  return (
    <tr>
      <td>
        <a href={pathTo("workspace", { workspace: id })}>{nameOf(workspace)}</a>{" "}
        {name !== null && <code class="dim">{id.slice(-8)}</code>}{" "}
        {damage !== null && <span class="tag bad">damaged</span>}
      </td>
      <td>
        <Time at={lastAccessedAt} />
      </td>
      <td>{devices.length === 0 ? "none" : plural(devices.length, "device")}</td>
      <td>{transcript !== null && <Conversation transcript={transcript} />}</td>
      <td>{provider ?? "default"}</td>
    </tr>
  );
}

/** The session that goes on in the workspace, and the size of its file. */
export function Conversation({
  transcript: { sessionId, bytes: size, isEdited },
}: {
  transcript: NonNullable<WireWorkspace["transcript"]>;
}) {
  return (
    <>
      {sessionId === null ? (
        size === 0 ? (
          "none"
        ) : (
          "a file"
        )
      ) : (
        <a href={pathTo("session", { session: sessionId })}>open</a>
      )}
      {size > 0 && <span class="dim numbers"> {bytes(size)}</span>}{" "}
      {isEdited && size > 0 && <span class="tag">edited</span>}
    </>
  );
}

function NewWorkspace({ create }: { create: (name: string) => Promise<boolean> }) {
  const name = useSignal("");
  return (
    <form
      class="row-of"
      onSubmit={(event) => {
        event.preventDefault();
        void create(name.value.trim());
      }}
    >
      <label>
        <span class="spoken">Name of the workspace</span>
        <input
          placeholder="Name of the workspace"
          maxLength={200}
          value={name.value}
          onInput={({ currentTarget }) => (name.value = currentTarget.value)}
        />
      </label>
      <button type="submit">Make a workspace</button>
    </form>
  );
}
