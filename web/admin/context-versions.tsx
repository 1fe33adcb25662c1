/** The versions of a context: who made each, what differs between two of them, and the way back to an earlier one (U10). */
import type { WireContext, WireContextVersion } from "../../src/client/client.ts";
import { client, isAdmin } from "../api/connection.ts";
import { useLoaded } from "../api/loading.ts";
import { FailedState, Loading } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { navigate, pathTo, route } from "../routes.ts";
import { ContextDifferences } from "./context-differences.tsx";
import { SureButton } from "./part.tsx";

interface VersionsProps {
  of: Pick<WireContext, "kind" | "id">;
  /** Newest first. */
  versions: readonly WireContextVersion[];
  names: ReadonlyMap<string, string>;
  /** Makes a new version with the content of this one. */
  goBack(version: number): void;
}

export function Versions({ of, versions, names, goBack }: VersionsProps) {
  const [newest] = versions;
  if (newest === undefined) return null;
  const compare = (from: number, to: number): void =>
    navigate(pathTo("context", { kind: of.kind, name: of.id }, { from: String(from), to: String(to) }), {
      replace: true,
    });
  return (
    <>
      <h3>Versions</h3>
      <ul class="checks">
        {versions.map(({ version, createdAt, createdBy, isRetired }) => (
          <li key={version}>
            Version {version} {isRetired && <span class="tag">not used</span>}{" "}
            <span class="dim">
              by {names.get(createdBy) ?? createdBy}, <Time at={createdAt} />
            </span>{" "}
            <button type="button" class="quiet small" onClick={() => compare(version - 1, version)}>
              What changed
            </button>
            {isAdmin.value && version !== newest.version && !isRetired && (
              <SureButton label={`Go back to version ${version}`} run={() => goBack(version)} />
            )}
          </li>
        ))}
      </ul>
      <Comparison of={of} versions={versions} compare={compare} />
    </>
  );
}

interface ComparisonProps extends Pick<VersionsProps, "of" | "versions"> {
  compare(from: number, to: number): void;
}

/** The two versions that the address names. Version 0 stands for nothing: it is before the first one. */
function Comparison({ of, versions, compare }: ComparisonProps) {
  const newest = versions[0]?.version ?? 1;
  const numberIn = (name: string): number | null => {
    const given = Number(route.value.query.get(name) ?? Number.NaN);
    return Number.isInteger(given) && given >= 0 && given <= newest ? given : null;
  };
  const [from, to] = [numberIn("from") ?? Math.max(0, newest - 1), numberIn("to") ?? newest];
  const isOpen = route.value.query.has("from");
  return (
    <section aria-label="Comparison">
      <h3>Compare</h3>
      <p class="row-of">
        <VersionChoice label="Before" value={from} versions={versions} choose={(one) => compare(one, to)} />
        <VersionChoice label="After" value={to} versions={versions} choose={(one) => compare(from, one)} />
        {!isOpen && (
          <button type="button" onClick={() => compare(from, to)}>
            Show what differs
          </button>
        )}
      </p>
      {isOpen && <Compared key={`${from} ${to}`} of={of} from={from} to={to} />}
    </section>
  );
}

interface ChoiceProps {
  label: string;
  value: number;
  versions: readonly WireContextVersion[];
  choose(version: number): void;
}

function VersionChoice({ label, value, versions, choose }: ChoiceProps) {
  return (
    <label>
      {label}
      <select value={value} onChange={({ currentTarget }) => choose(Number(currentTarget.value))}>
        {versions.map(({ version }) => (
          <option key={version} value={version}>
            version {version}
          </option>
        ))}
        <option value={0}>nothing</option>
      </select>
    </label>
  );
}

function Compared({ of: { kind, id }, from, to }: { of: VersionsProps["of"]; from: number; to: number }) {
  const { value, failed, load } = useLoaded(`${kind} ${id} ${from} ${to}`, async () => {
    const contentOf = async (version: number): Promise<WireContext["content"]> =>
      version === 0 ? null : (await client.contexts.get(kind, id, { version })).content;
    const [before, after] = await Promise.all([contentOf(from), contentOf(to)]);
    return { before, after };
  });
  if (failed.value !== null) return <FailedState failed={failed.value} retry={() => void load()} />;
  if (value.value === null) return <Loading />;
  const nameOf = (version: number): string => (version === 0 ? "nothing" : `version ${version}`);
  return <ContextDifferences {...value.value} names={[nameOf(from), nameOf(to)]} />;
}
