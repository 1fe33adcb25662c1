/** The places of the page: a bar at the side, on phones at the bottom. */
import { signal } from "@preact/signals";
import { isAdmin, me, signOut } from "../api/connection.ts";
import { waiting } from "../api/live.ts";
import { Menu } from "../parts/menu.tsx";
import { pathTo, route } from "../routes.ts";
import { openPalette } from "./palette.tsx";
import { setTheme, themes } from "./theme.ts";

interface Place {
  name: string;
  label: string;
  path: string;
  icon: string;
  routes: readonly string[];
}

const places: readonly Place[] = [
  {
    name: "Sessions",
    label: "Sessions",
    path: pathTo("sessions"),
    icon: "M4 6h16M4 12h16M4 18h10",
    routes: ["sessions", "session", "turn"],
  },
  {
    name: "Waiting",
    label: "Waiting for you",
    path: pathTo("approvals"),
    icon: "M12 7v5l3 3M12 3a9 9 0 1 0 0 18a9 9 0 0 0 0-18",
    routes: ["approvals"],
  },
  {
    name: "Several",
    label: "Ask several",
    path: pathTo("several"),
    icon: "M4 5h6v14H4zM14 5h6v14h-6z",
    routes: ["several", "compare"],
  },
  {
    name: "Map",
    label: "Map of forks",
    path: pathTo("map"),
    icon: "M6 4v16M6 12c0-4 12 0 12-6M18 4v2",
    routes: ["map"],
  },
  {
    name: "Costs",
    label: "Costs",
    path: pathTo("costs"),
    icon: "M4 20h16M7 20v-7M12 20V5M17 20v-10",
    routes: ["costs"],
  },
  {
    name: "Admin",
    label: "Admin",
    path: pathTo("admin"),
    icon: "M12 9a3 3 0 1 0 0 6a3 3 0 0 0 0-6M12 3v3M12 18v3M3 12h3M18 12h3M6 6l2 2M16 16l2 2M6 18l2-2M16 8l2-2",
    routes: ["admin", "adminPart", "workspace", "context"],
  },
];

const hasMore = signal(false);

export function Navigation() {
  const waits = waiting.value?.length ?? 0;
  return (
    <nav class="places" aria-label="Places">
      {places.map(({ name, label, path, icon, routes }) => (
        <a
          key={name}
          href={path}
          class={["Several", "Map", "Costs"].includes(name) ? "place wide-only" : "place"}
          aria-current={routes.includes(route.value.name) ? "page" : undefined}
          aria-label={name === "Waiting" && waits > 0 ? undefined : label}
          title={label}
        >
          <svg viewBox="0 0 24 24" aria-hidden="true">
            <path d={icon} />
          </svg>
          <span>{name}</span>
          {name === "Waiting" && waits > 0 && (
            <>
              {" "}
              <b class="count">{waits}</b>
              <span class="spoken"> {waits === 1 ? "call waits" : "calls wait"} for you</span>
            </>
          )}
        </a>
      ))}
      <More />
    </nav>
  );
}

function More() {
  const items = [
    { label: "Commands …", keys: "Ctrl K", run: openPalette },
    ...places
      .filter(({ name }) => ["Several", "Map", "Costs"].includes(name))
      .map(({ label, path }) => ({ label, href: path })),
    ...themes.map(({ name, label }) => ({ label: `Theme: ${label}`, run: () => setTheme(name) })),
    ...("Notification" in window && Notification.permission === "default"
      ? [{ label: "Notify me when something waits", run: () => void Notification.requestPermission() }]
      : []),
    { label: `Sign out ${me.value?.name ?? ""}`, run: () => void signOut() },
  ];
  return (
    <Menu label={isAdmin.value ? "More (you are an admin)" : "More"} items={items} isOpen={hasMore} class="place">
      <svg viewBox="0 0 24 24" aria-hidden="true">
        <path d="M5 12h.01M12 12h.01M19 12h.01" />
      </svg>
      <span>More</span>
    </Menu>
  );
}
