/** Light, dark, or what the system has. */
import { effect, signal } from "@preact/signals";

export const themes = [
  { name: "system", label: "as the system" },
  { name: "light", label: "light" },
  { name: "dark", label: "dark" },
] as const;
type Theme = (typeof themes)[number]["name"];

const storageKey = "aptove.theme";
const theme = signal<string>(localStorage.getItem(storageKey) ?? "system");

effect(() => {
  if (theme.value === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme.value;
});

export function setTheme(name: Theme): void {
  localStorage.setItem(storageKey, name);
  theme.value = name;
}
