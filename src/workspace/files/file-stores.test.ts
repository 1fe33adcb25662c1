import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { temporaryFolder } from "../../../testing/temporary-folder.ts";
import { bindingStoreSuite, type OpenBindings } from "../binding-store.suite.ts";
import { dataFolderAt } from "../../configuration/data-folder.ts";
import { workspaceStoreSuite, type OpenWorkspaces } from "../workspace-store.suite.ts";
import { fileBindings } from "./file-bindings.ts";
import { fileWorkspaces } from "./file-workspaces.ts";

async function openWorkspaces(context: TestContext): Promise<OpenWorkspaces> {
  const folder = dataFolderAt(await temporaryFolder(context));
  const reopen = () => fileWorkspaces(folder);
  const damage = (id: string) => writeFile(join(folder.workspaces, id, "workspace.toml"), "uuid = ");
  return { store: reopen(), reopen, damage };
}

async function openBindings(context: TestContext): Promise<OpenBindings> {
  const folder = dataFolderAt(await temporaryFolder(context));
  const reopen = () => fileBindings(folder);
  return { store: reopen(), reopen };
}

workspaceStoreSuite("workspaces in files", openWorkspaces);
bindingStoreSuite("bindings in files", openBindings);
