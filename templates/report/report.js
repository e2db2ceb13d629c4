"use strict";
(() => {
  const table = document.getElementById("digests");
  if (!table) return;
  const bodies = [...table.tBodies];
  const heads = [...table.tHead.rows[0].cells];

  const key = (body, column) => {
    const cell = body.rows[0].cells[column];
    return "number" in cell.dataset ? Number(cell.dataset.number) : cell.textContent;
  };

  const compared = (a, b) =>
    typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true });

  table.tHead.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-column]");
    if (!button) return;
    const column = Number(button.dataset.column);
    const head = heads[column];
    // Numbers are wanted from the biggest down, ranks and names from the first on.
    const first = head.classList.contains("number") && column > 0 ? "descending" : "ascending";
    const other = first === "descending" ? "ascending" : "descending";
    const order = head.ariaSort === first ? other : first;
    for (const one of heads) one.ariaSort = "none";
    head.ariaSort = order;
    const sign = order === "ascending" ? 1 : -1;
    const keyed = bodies.map((body) => [key(body, column), body]);
    keyed.sort((a, b) => sign * compared(a[0], b[0]));
    table.append(...keyed.map((pair) => pair[1]));
  });

  const byCommand = (text) => {
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "unseen";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  };

  const copied = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      return byCommand(text);
    }
  };

  table.addEventListener("click", async (event) => {
    const button = event.target.closest("button.copy");
    if (!button) return;
    const text = button.closest("td").querySelector("code").textContent;
    button.textContent = (await copied(text)) ? "Copied" : "Cannot copy here";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });

  const find = document.getElementById("find");
  const found = document.getElementById("found");
  find.addEventListener("input", () => {
    const wanted = find.value.trim().toLowerCase();
    let count = 0;
    for (const body of bodies) {
      const names = [...body.rows[0].cells].slice(7).map((cell) => cell.textContent).join("\n");
      const query = body.querySelector("code").textContent;
      const digest = body.querySelector(".digest").textContent;
      const matches = `${query}\n${names}\n${digest}`.toLowerCase().includes(wanted);
      body.hidden = !matches;
      count += matches;
    }
    found.textContent = wanted ? `${count} of ${bodies.length}` : "";
  });
})();
