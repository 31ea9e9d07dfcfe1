// Tables as files that spreadsheets open.

/**
 * Where a spreadsheet may begin a cell with a formula: at the beginning of a text, and behind what
 * separates cells where the spreadsheet expects semicolons or tabs instead of commas. It then reads
 * the quotes within a line as text.
 */
const formulas = /(^|[;,\t\r\n])(?=["' ]*[=+\-@\uff1d\uff0b\uff0d\uff20])|^(?=[\t\r\n])/g;

/**
 * Lines of quoted cells. A merchant's customer writes some of the texts: what a spreadsheet would
 * take for a formula gets an apostrophe before it.
 * @param {readonly (readonly string[])[]} rows
 */
export function csvOf(rows) {
  const cell = (/** @type {string} */ text) =>
    `"${text.replaceAll(formulas, "$1'").replaceAll('"', '""')}"`;
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
