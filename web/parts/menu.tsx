/** A button that opens a list of actions. Arrow keys move, Escape closes and returns to the button. */
import { signal, type Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";

export interface MenuItem {
  label: string;
  keys?: string;
  href?: string;
  isDisabled?: boolean;
  run?: () => void;
}

interface MenuProps {
  label: string;
  items: readonly MenuItem[];
  isOpen?: Signal<boolean>;
  class?: string;
  children: ComponentChildren;
}

export function Menu({ label, items, isOpen, class: name = "quiet", children }: MenuProps) {
  const open = useMemo(() => isOpen ?? signal(false), [isOpen]);
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!open.value) return;
    showBeside(box.current, button.current);
    box.current?.querySelector<HTMLElement>("[role=menuitem]")?.focus();
    const away = (event: Event): void => {
      if (event.target instanceof Node && box.current?.parentElement?.contains(event.target) !== true)
        open.value = false;
    };
    document.addEventListener("pointerdown", away);
    return () => document.removeEventListener("pointerdown", away);
  }, [open.value]);
  const close = (): void => {
    open.value = false;
    button.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const all = [...(box.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") close();
    else if (step !== undefined) {
      const at = all.findIndex((one) => one === document.activeElement);
      all.at((at + step) % all.length)?.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="menu">
      <button
        ref={button}
        type="button"
        class={name}
        aria-haspopup="menu"
        aria-expanded={open.value}
        aria-label={label}
        title={label}
        onClick={() => (open.value = !open.value)}
      >
        {children}
      </button>
      {open.value && (
        <div class="menu-list" popover="manual" role="menu" aria-label={label} ref={box} onKeyDown={onKeyDown}>
          {items.map((item) => (
            <MenuEntry key={item.label} item={item} close={close} />
          ))}
        </div>
      )}
    </div>
  );
}

/** The list is above everything, so no scrolling part can cut it. It opens to the side where there is room. */
function showBeside(list: HTMLElement | null, button: HTMLElement | null): void {
  if (list === null || button === null) return;
  list.showPopover();
  const at = button.getBoundingClientRect();
  const { width, height } = list.getBoundingClientRect();
  const left = at.left + width > innerWidth - 8 ? at.right - width : at.left;
  const top = at.bottom + height > innerHeight - 8 ? at.top - height : at.bottom;
  list.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
  list.style.top = `${Math.max(8, top)}px`;
}

function MenuEntry({
  item: { label, keys, href, run, isDisabled = false },
  close,
}: {
  item: MenuItem;
  close: () => void;
}) {
  const shown = (
    <>
      {label}
      {keys !== undefined && <kbd>{keys}</kbd>}
    </>
  );
  if (href !== undefined) {
    return (
      <a role="menuitem" tabIndex={-1} href={href} onClick={close}>
        {shown}
      </a>
    );
  }
  return (
    <button
      type="button"
      role="menuitem"
      tabIndex={-1}
      disabled={isDisabled}
      onClick={() => {
        close();
        run?.();
      }}
    >
      {shown}
    </button>
  );
}
