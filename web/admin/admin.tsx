/** Administration (U10): keys, browsers and devices, people, workspaces, contexts, indexes, the audit log and the server. */
import type { ComponentType } from "preact";
import { isAdmin } from "../api/connection.ts";
import { pathTo, route } from "../routes.ts";
import { Audit } from "./audit.tsx";
import { ContextEditor } from "./context-editor.tsx";
import { Contexts } from "./contexts.tsx";
import { Devices } from "./devices.tsx";
import { Indexes } from "./indexes.tsx";
import { Keys } from "./keys.tsx";
import { People } from "./people.tsx";
import { Server } from "./server.tsx";
import { WorkspaceView } from "./workspace.tsx";
import { Workspaces } from "./workspaces.tsx";

interface Part {
  name: string;
  label: string;
  Of: ComponentType;
  /** True if only admins may open it. */
  isForAdmins?: boolean;
}

const parts: readonly Part[] = [
  { name: "devices", label: "Browsers and devices", Of: Devices },
  { name: "keys", label: "Keys", Of: Keys },
  { name: "people", label: "People", Of: People },
  { name: "workspaces", label: "Workspaces", Of: Workspaces },
  { name: "contexts", label: "Contexts", Of: Contexts },
  { name: "indexes", label: "Indexes", Of: Indexes },
  { name: "server", label: "Server", Of: Server },
  { name: "audit", label: "Audit", Of: Audit, isForAdmins: true },
];

export function Admin() {
  const { name, params } = route.value;
  const partOfRoute: Partial<Record<typeof name, string>> = { context: "contexts", workspace: "workspaces" };
  const chosen = partOfRoute[name] ?? params["part"] ?? "devices";
  const shown = parts.filter(({ isForAdmins }) => isForAdmins !== true || isAdmin.value);
  const part = shown.find((one) => one.name === chosen);
  return (
    <main class="view admin" id="view" tabIndex={-1}>
      <h1>Administration</h1>
      <nav class="admin-parts" aria-label="Parts of the administration">
        {shown.map((one) => (
          <a
            key={one.name}
            href={pathTo("adminPart", { part: one.name })}
            aria-current={one.name === chosen ? "page" : undefined}
          >
            {one.label}
          </a>
        ))}
      </nav>
      {name === "context" ? (
        <ContextEditor kind={params["kind"] ?? ""} id={params["name"] ?? ""} />
      ) : name === "workspace" ? (
        <WorkspaceView key={params["workspace"]} id={params["workspace"] ?? ""} />
      ) : part === undefined ? (
        <p>There is no such part, or your role does not allow it.</p>
      ) : (
        <part.Of />
      )}
    </main>
  );
}
