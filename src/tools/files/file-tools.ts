/** The agent's file tools: read, list, search, write, edit, in the folders of one session (P5, P4). */
import { SessionFolders, type SessionFoldersOptions } from "../session-folders.ts";
import type { FileAccess } from "../session-tools.ts";
import type { Tool } from "../tool.ts";
import { editTool } from "./edit-tool.ts";
import { SeenFiles, ShownVersions, type FileToolsSession } from "./files-session.ts";
import { listTool } from "./list-tool.ts";
import { readTool } from "./read-tool.ts";
import { searchTool } from "./search-tool.ts";
import { TextFiles } from "./text-files.ts";
import { writeTool } from "./write-tool.ts";

export interface FileToolsOptions extends SessionFoldersOptions {
  /** File access of the client, which replaces the disk for reading or writing one file. Lists and searches always use the disk. */
  files?: Partial<FileAccess>;
}

/** Makes the file tools of one session. They share a record of the files that the model has read. */
export function fileTools(options: FileToolsOptions): Tool[] {
  const session: FileToolsSession = {
    folders: new SessionFolders(options),
    texts: new TextFiles(options.files),
    seen: new SeenFiles(),
    shown: new ShownVersions(),
  };
  return [readTool, listTool, searchTool, writeTool, editTool].map((make) => make(session));
}
