/** One workspace (U10): what it is, its conversation as a file, what its tools may do, and what it remembers. */
import type { WireWorkspace } from "../../src/client/client.ts";
import { client, isAdmin, mayWrite } from "../api/connection.ts";
import { ago, plural } from "../parts/numbers.ts";
import { shownCommand, shownText } from "../parts/shown-text.ts";
import { Time } from "../parts/time.tsx";
import { navigate, pathTo } from "../routes.ts";
import { PartFrame, SureButton, Table, usePart } from "./part.tsx";
import { WorkspaceMemory } from "./workspace-memory.tsx";
import { WorkspaceTranscript } from "./workspace-transcript.tsx";
import { Conversation, nameOf } from "./workspaces.tsx";

/** The names of paired devices, by the ids that they send. */
type DeviceNames = ReadonlyMap<string, string>;

async function read(id: string): Promise<{ workspace: WireWorkspace; names: DeviceNames }> {
  const [workspace, devices] = await Promise.all([client.workspaces.get(id), client.devices.list()]);
  return { workspace, names: new Map(devices.map(({ deviceId, name }) => [deviceId, name])) };
}

export function WorkspaceView({ id }: { id: string }) {
  const { list, fault, act } = usePart(`workspace ${id}`, () => read(id));
  const allWorkspaces = pathTo("adminPart", { part: "workspaces" });
  const remove = (unusedSince: string): void =>
    void act(async () => {
      await client.workspaces.delete(id, { unusedSince });
      navigate(allWorkspaces);
    });
  return (
    <>
      <p>
        <a href={allWorkspaces}>← Workspaces</a>
      </p>
      <PartFrame list={list} fault={fault}>
        {({ workspace, names }) => (
          <>
            <h2>{nameOf(workspace)}</h2>
            <Facts workspace={workspace} names={names} />
            {workspace.damage === null && (
              <>
                <WorkspaceTranscript id={id} hasChanged={() => void list.load()} />
                <Permissions id={id} />
                <WorkspaceMemory id={id} />
              </>
            )}
            {isAdmin.value && <Deletion workspace={workspace} remove={() => remove(workspace.lastAccessedAt)} />}
          </>
        )}
      </PartFrame>
    </>
  );
}

const isUuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** A device is known by its name. One of another person has only an id here, of which the end is shown. */
function DeviceName({ id, names }: { id: string; names: DeviceNames }) {
  return (
    <bdi class="device-name" title={id}>
      {shownText(names.get(id) ?? (isUuid.test(id) ? `…${id.slice(-8)}` : id))}
    </bdi>
  );
}

function Facts({ workspace, names }: { workspace: WireWorkspace; names: DeviceNames }) {
  const { id, createdAt, lastAccessedAt, provider, devices, damage, transcript } = workspace;
  return (
    <>
      {damage !== null && <p class="notice fail">This workspace is damaged: {shownText(damage)}</p>}
      <dl class="facts">
        <dt>Id</dt>
        <dd class="digest">{id}</dd>
        <dt>Made</dt>
        <dd>
          <Time at={createdAt} />
        </dd>
        <dt>Last used</dt>
        <dd>
          <Time at={lastAccessedAt} />
        </dd>
        {provider !== null && (
          <>
            <dt>Provider</dt>
            <dd>{provider}</dd>
          </>
        )}
        <dt>Devices</dt>
        <dd>
          {devices.length === 0
            ? "none"
            : devices.map((device) => <DeviceName key={device} id={device} names={names} />)}
        </dd>
        {transcript !== null && (
          <>
            <dt>Conversation</dt>
            <dd>
              <Conversation transcript={transcript} />
            </dd>
          </>
        )}
      </dl>
    </>
  );
}

/** What the tools may do without asking (P4). */
function Permissions({ id }: { id: string }) {
  const { list, fault, act } = usePart(`permissions ${id}`, () => client.workspaces.permissions(id));
  return (
    <section aria-labelledby="permissions">
      <h3 id="permissions">What its tools may do without asking</h3>
      <PartFrame list={list} fault={fault}>
        {(permissions) =>
          permissions.length === 0 ? (
            <p class="dim">Nothing: they ask each time.</p>
          ) : (
            <Table caption="Permissions" head={["What", "Since", ""]}>
              {permissions.map(({ key, allowedAt }) => (
                <tr key={key}>
                  <td>
                    <code>{shownCommand(key)}</code>
                  </td>
                  <td>
                    <Time at={allowedAt} />
                  </td>
                  <td>
                    {mayWrite.value && (
                      <SureButton
                        label="Ask again"
                        run={() => void act(() => client.workspaces.forgetPermission(id, key))}
                      />
                    )}
                  </td>
                </tr>
              ))}
            </Table>
          )
        }
      </PartFrame>
    </section>
  );
}

function Deletion({
  workspace: { id, devices, lastAccessedAt },
  remove,
}: {
  workspace: WireWorkspace;
  remove: () => void;
}) {
  const used = ago(Date.parse(lastAccessedAt), Date.now());
  return (
    <section aria-labelledby="deletion">
      <h3 id="deletion">Delete this workspace</h3>
      <p>
        Its transcripts, settings, permissions and memory are deleted permanently
        {devices.length > 0 && `, and ${plural(devices.length, "device")} lose${devices.length === 1 ? "s" : ""} it`}.
        Its sessions stay. It was last used {used === "now" ? "a moment ago" : used}.
        {id === "default" && " It is made again, empty, when it is next needed."}
      </p>
      <SureButton label="Delete" run={remove} />
    </section>
  );
}
