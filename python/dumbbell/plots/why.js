// The entries around the time that was clicked. Bokeh reports the click and moves the line of the time.
(function () {
  "use strict";
  const entries = JSON.parse(document.getElementById("entries").textContent);
  const list = document.getElementById("around");
  const title = document.getElementById("moment");
  const width = document.getElementById("width");
  let current = 0;

  // The entry nearest to a time, in s.
  function nearest(time) {
    let low = 0;
    let high = entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (entries[middle][0] < time) low = middle + 1;
      else high = middle;
    }
    if (low === entries.length) return low - 1;
    return low > 0 && time - entries[low - 1][0] < entries[low][0] - time ? low - 1 : low;
  }

  function row(index) {
    const made = document.createElement("tr");
    entries[index].forEach(function (value, column) {
      const cell = document.createElement("td");
      cell.textContent = column === 0 ? value.toFixed(6) : value;
      made.append(cell);
    });
    if (index === current) made.setAttribute("aria-current", "true");
    made.className = entries[index][1].replace(/ /g, "-");
    made.addEventListener("click", function () { show(index); });
    return made;
  }

  function show(index) {
    if (entries.length === 0) return;
    current = Math.min(entries.length - 1, Math.max(0, index));
    const time = entries[current][0];
    const half = Number(width.value) / 2;
    let first = current;
    let last = current;
    while (first > 0 && current - first < 100 && entries[first - 1][0] >= time - half) first -= 1;
    while (last + 1 < entries.length && last - current < 100 && entries[last + 1][0] <= time + half) last += 1;
    const rows = [];
    for (let at = first; at <= last; at += 1) rows.push(row(at));
    list.replaceChildren(...rows);
    title.textContent = time.toFixed(6) + " s";
    // Its figures exist once Bokeh has drawn the page.
    const line = window.Bokeh && window.Bokeh.documents.length > 0
      ? window.Bokeh.documents[0].get_model_by_name("moment") : null;
    if (line) line.location = time;
  }

  window.showEntriesAround = function (time) { show(nearest(time)); };
  document.getElementById("earlier").addEventListener("click", function () { show(current - 1); });
  document.getElementById("later").addEventListener("click", function () { show(current + 1); });
  width.addEventListener("change", function () { show(current); });
  window.showEntriesAround(Number(list.dataset.time));
})();
