/** The users of the org (U10). Only admins change them. */
import { useSignal } from "@preact/signals";
import { client, isAdmin, me } from "../api/connection.ts";
import { shownText } from "../parts/shown-text.ts";
import { Time } from "../parts/time.tsx";
import { PartFrame, SureButton, Table, usePart } from "./part.tsx";

const roles = ["admin", "member", "reader"] as const;

export function People() {
  const { list, fault, act } = usePart("people", () => client.people.list({ limit: 200 }));
  return (
    <PartFrame list={list} fault={fault}>
      {({ users }) => (
        <>
          {isAdmin.value && <NewPerson add={(person) => act(() => client.people.add(person))} />}
          <Table caption="People" head={["Name", "Email", "Role", "Since", ""]}>
            {users.map(({ id, name, email, role, createdAt, disabledAt }) => (
              <tr key={id} class={disabledAt === null ? "" : "dim"}>
                <td>
                  <bdi>{shownText(name)}</bdi> {id === me.value?.userId && <span class="tag">you</span>}
                </td>
                <td>{email}</td>
                <td>
                  {isAdmin.value ? (
                    <select
                      aria-label={`Role of ${name}`}
                      value={role}
                      onChange={({ currentTarget }) =>
                        void act(() =>
                          client.people.change(id, { role: currentTarget.value as (typeof roles)[number] }),
                        )
                      }
                    >
                      {roles.map((one) => (
                        <option key={one}>{one}</option>
                      ))}
                    </select>
                  ) : (
                    role
                  )}
                </td>
                <td>
                  <Time at={createdAt} />
                </td>
                <td>
                  {isAdmin.value && id !== me.value?.userId && (
                    <SureButton
                      label={disabledAt === null ? "Disable" : "Enable"}
                      run={() => void act(() => client.people.change(id, { disabled: disabledAt === null }))}
                    />
                  )}
                </td>
              </tr>
            ))}
          </Table>
        </>
      )}
    </PartFrame>
  );
}

function NewPerson({
  add,
}: {
  add: (person: { name: string; role: "admin" | "member" | "reader" }) => Promise<boolean>;
}) {
  const name = useSignal("");
  const role = useSignal<(typeof roles)[number]>("member");
  return (
    <form
      class="row-of"
      onSubmit={(event) => {
        event.preventDefault();
        void add({ name: name.value, role: role.value }).then((isAdded) => isAdded && (name.value = ""));
      }}
    >
      <label>
        <span class="spoken">Name of the person</span>
        <input
          required
          placeholder="Name"
          value={name.value}
          onInput={({ currentTarget }) => (name.value = currentTarget.value)}
        />
      </label>
      <label>
        <span class="spoken">Role</span>
        <select
          value={role.value}
          onChange={({ currentTarget }) => (role.value = currentTarget.value as (typeof roles)[number])}
        >
          {roles.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </label>
      <button type="submit">Add a person</button>
    </form>
  );
}
