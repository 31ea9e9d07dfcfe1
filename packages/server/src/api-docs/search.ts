/**
 * The whole script of the pages: the search field hides the sections, groups and links without the
 * words that are typed. "/" moves the focus to the field.
 */
export const search = `
const form = document.querySelector("form[role=search]");
const field = form.querySelector("input");
const result = form.querySelector("output");
const sections = [...document.querySelectorAll("main section")];
const texts = sections.map((section) => section.textContent.toLowerCase());
const links = [...document.querySelectorAll("nav li a[href^='#']")];
const headings = [...document.querySelectorAll("main h2")];
const showMatches = () => {
  const words = field.value.toLowerCase().split(/\\s+/).filter((word) => word !== "");
  let count = 0;
  sections.forEach((section, index) => {
    section.hidden = !words.every((word) => texts[index].includes(word));
    if (!section.hidden) count += 1;
  });
  for (const link of links) {
    const target = document.getElementById(link.hash.slice(1));
    link.parentElement.hidden = target !== null && target.hidden;
  }
  for (const heading of headings) {
    const own = [];
    for (let next = heading.nextElementSibling; next !== null && next.tagName !== "H2"; next = next.nextElementSibling)
      if (next.tagName === "SECTION") own.push(next);
    heading.hidden = own.length > 0 && own.every((section) => section.hidden);
    const next = heading.nextElementSibling;
    if (next !== null && next.tagName === "P") next.hidden = heading.hidden;
  }
  result.textContent = words.length === 0 ? "" : count + " of " + sections.length;
};
form.hidden = false;
form.addEventListener("submit", (event) => event.preventDefault());
field.addEventListener("input", showMatches);
// A link to a section that is hidden shows it.
addEventListener("hashchange", () => {
  const target = document.getElementById(location.hash.slice(1));
  if (target === null || !target.hidden) return;
  field.value = "";
  showMatches();
  target.scrollIntoView();
});
addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target === field || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  field.focus();
});
`;
