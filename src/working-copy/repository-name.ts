/**
 * The name under which a repository is indexed and its sessions are listed (Q2). Two repositories never have the same name:
 * clones of one hosted repository do, and so do the linked working copies of a local one.
 */
import { createHash } from "node:crypto";
import { realpathSync } from "node:fs";
import { basename } from "node:path";

/** The characters of the digest in a name: enough for the folders of one machine that have the same name. */
const digestCharacters = 8;

/**
 * Returns host and path of the origin, for example `github.com/owner/name`, without user, password and port. Null if the
 * origin is on no host.
 */
export function hostedName(origin: string): string | null {
  const [, scheme = "", address = "", inUrl = ""] =
    /^([a-z][a-z+]*):\/\/(?:[^/@]*@)?([^/]+)\/(.+)$/i.exec(origin) ?? [];
  const [, sshHost = "", inSsh = ""] = scheme === "" ? (/^[^/\\:@]+@([^/:]+):(.+)$/.exec(origin) ?? []) : [];
  const host = (scheme === "" ? sshHost : address.replace(/:\d*$/, "")).toLowerCase();
  const path = (scheme === "" ? inSsh : inUrl)
    .replace(/^\/+|\/+$/g, "")
    .replace(/\.git$/, "")
    .replace(/\/+$/, "");
  return scheme.toLowerCase() === "file" || host === "" || path === "" ? null : `${host}/${path}`;
}

/**
 * Returns the name of a folder without a hosted origin: its own, and a digest of where it is and of the root commit. The
 * commit is null outside of git, and empty before the first commit.
 */
export function placeName(folder: string, rootCommit: string | null): string {
  const digest = createHash("sha256")
    .update(`${realPath(folder)}\n${rootCommit ?? "-"}`)
    .digest("hex");
  return `${basename(folder) || "root"}~${digest.slice(0, digestCharacters)}`;
}

function realPath(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return folder;
  }
}
