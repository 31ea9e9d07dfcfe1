// Tables as files that spreadsheets open.

/**
 * Lines of quoted cells. A spreadsheet would take a cell that begins with one of these characters
 * for a formula, and a merchant's customer writes some of the texts: they get an apostrophe, which
 * spreadsheets do not show.
 * @param {readonly (readonly string[])[]} rows
 */
export function csvOf(rows) {
  const cell = (/** @type {string} */ text) =>
    `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/**
 * Saves a text as a file of the user's.
 * @param {string} name
 * @param {string} text
 */
export function download(name, text) {
  // The mark at the beginning shows spreadsheets that the text is UTF-8.
  const url = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
