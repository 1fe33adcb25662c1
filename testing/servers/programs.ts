/** The programs that the services need, and the packages of Debian that contain them. */
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

const packages = {
  "redis-server": ["redis-server"],
  radosgw: ["radosgw", "radosgw-admin"],
  "ceph-mon": ["ceph-mon", "monmaptool"],
  "ceph-osd": ["ceph-osd"],
  "ceph-common": ["ceph", "ceph-authtool"],
} as const;

export type ServicePackage = keyof typeof packages;

/** Returns the packages whose programs are not on the path. */
export function missingPackages(wanted: readonly ServicePackage[] = Object.keys(packages) as ServicePackage[]) {
  return wanted.filter((name) => packages[name].some((program) => !isOnPath(program)));
}

/** Throws an error that states how to install what is missing. */
export function requirePackages(...wanted: readonly ServicePackage[]): void {
  const missing = missingPackages(wanted);
  if (missing.length > 0) throw new Error(`not installed: apt-get install ${missing.join(" ")}`);
}

function isOnPath(program: string): boolean {
  return (process.env["PATH"] ?? "").split(delimiter).some((folder) => existsSync(join(folder, program)));
}
