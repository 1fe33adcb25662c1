/** The contexts in effect (U10): those of the configuration, and the org's own. */
import { client } from "../api/connection.ts";
import { shownText } from "../parts/shown-text.ts";
import { Time } from "../parts/time.tsx";
import { pathTo } from "../routes.ts";
import { PartFrame, Table, usePart } from "./part.tsx";

export function Contexts() {
  const { list, fault } = usePart("contexts", () => client.contexts.list());
  return (
    <PartFrame list={list} fault={fault}>
      {(contexts) => (
        <Table caption="Contexts" head={["Id", "Kind", "Name", "Comes from", "Changed"]}>
          {contexts.map(({ kind, id, content, version, createdAt }) => (
            <tr key={`${kind} ${id}`}>
              <td>
                <a href={pathTo("context", { kind, name: id })}>{id}</a>
              </td>
              <td>{kind}</td>
              <td>{shownText(content?.name ?? "")}</td>
              <td>{version === null ? "the configuration" : `version ${version}`}</td>
              <td>{createdAt !== null && <Time at={createdAt} />}</td>
            </tr>
          ))}
        </Table>
      )}
    </PartFrame>
  );
}
