// Menus: `details` of the class `menu`.

/**
 * Closes open menus on Esc, which returns the focus to the menu's button, and on a press outside.
 * Shortcuts that are switched off have no part in it.
 */
export function watchMenus() {
  addEventListener(
    "keydown",
    (event) => {
      if (event.key !== "Escape" || document.querySelector("dialog[open]") !== null) return;
      const [menu] = openMenus();
      if (menu === undefined) return;
      event.preventDefault();
      menu.open = false;
      menu.querySelector("summary")?.focus();
    },
    { capture: true },
  );
  addEventListener("pointerdown", ({ target }) => {
    for (const menu of openMenus())
      if (!(target instanceof Node && menu.contains(target))) menu.open = false;
  });
}

function openMenus() {
  return [...document.querySelectorAll("details")].filter(
    ({ open, classList }) => open && classList.contains("menu"),
  );
}
