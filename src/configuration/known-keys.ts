/** Every key that the configuration file may have, one by one, with the path that documentation and messages use. */
import { configFields } from "./config-fields.ts";
import type { ConfigField, NamedField, TableField, ValueField } from "./config-forms.ts";

/** A key that the configuration file may have. */
export interface KnownKey {
  /** The path that documentation uses: a name that a person chooses is written as `<id>`. */
  path: string;
  /** The same path with the names of the starter file. */
  sample: string;
  field: ValueField;
  /** True if only the file of the data folder may have the key, and no workspace's own file (W7). */
  isShared: boolean;
}

export function knownKeys(): KnownKey[] {
  const found: KnownKey[] = [];
  const walk = (field: ConfigField, at: Omit<KnownKey, "field">): void => {
    const { path, sample, isShared } = at;
    if (field.kind === "value") {
      found.push({ ...at, field });
    } else if (field.kind === "named") {
      for (const [name, part] of partsOf(field))
        walk(part, { path: `${path}.<id>`, sample: `${sample}.${name}`, isShared });
    } else {
      const before = path === "" ? "" : ".";
      for (const [key, child] of Object.entries(field.keys)) {
        const below = { path: `${path}${before}${key}`, sample: `${sample}${before}${key}` };
        walk(child, { ...below, isShared: isShared || field.isShared === true });
      }
    }
  };
  walk(configFields, { path: "", sample: "", isShared: false });
  return found;
}

/** Returns a named field as the starter file writes it: each sample name with the keys below it. */
export function partsOf({ sampleName, apart, each }: NamedField): [string, TableField | ValueField][] {
  if (apart === undefined || each.kind === "value") return [[sampleName, each]];
  const keysWhere = (isApart: boolean): TableField["keys"] =>
    Object.fromEntries(Object.entries(each.keys).filter(([key]) => apart.keys.includes(key) === isApart));
  return [
    [sampleName, { ...each, keys: keysWhere(false) }],
    [apart.sampleName, { ...each, about: "", keys: keysWhere(true) }],
  ];
}
