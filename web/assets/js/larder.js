// Larder's only script. Every page works without it, but for uploads and the
// numbers that change while one looks at them.

document.documentElement.dataset.script = "";

const announce = (text) => {
  const line = document.getElementById("announce");
  if (line) line.textContent = text;
};

/* Copying. The clipboard API is there on https and on localhost only; on plain
   http the older command still works; where neither does, the text is left
   selected for the person to copy. */

const textOf = (source) => ("value" in source ? source.value : source.textContent);

const selectAll = (source) => {
  if ("select" in source) {
    source.focus();
    source.select();
    return;
  }
  const range = document.createRange();
  range.selectNodeContents(source);
  const selection = getSelection();
  selection.removeAllRanges();
  selection.addRange(range);
};

const copy = async (source) => {
  if (window.isSecureContext && navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(textOf(source));
      return true;
    } catch {
      // Not permitted: go on with the older way.
    }
  }
  selectAll(source);
  const done = document.execCommand("copy");
  if (done) getSelection().removeAllRanges();
  return done;
};

const copied = (button, done) => {
  const word = button.querySelector("[data-copy-word]");
  word.textContent = done ? "Copied" : "Press Ctrl+C";
  button.toggleAttribute("data-done", done);
  announce(done ? "Copied to the clipboard" : "The text is selected. Press Control and C to copy it");
  clearTimeout(button.back);
  button.back = setTimeout(() => {
    word.textContent = "Copy";
    button.removeAttribute("data-done");
  }, 3000);
};

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const done = await copy(document.querySelector(button.dataset.copy));
  if (done) button.focus();
  copied(button, done);
});

/* Menus close when one clicks elsewhere or presses Escape. */

const closeMenus = (except) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (menu !== except) menu.open = false;
  }
};

document.addEventListener("click", (event) => closeMenus(event.target.closest("details.menu")));
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const menu = document.activeElement?.closest("details.menu[open]");
  closeMenus(null);
  menu?.querySelector("summary").focus();
});

/* Selecting in a list: the bar itself appears by style, the count is ours. */

const boxes = () => [...document.querySelectorAll(".picks .check")];

const countPicked = () => {
  const all = boxes();
  const picked = all.filter((box) => box.checked).length;
  const count = document.querySelector("[data-bulk-count]");
  if (count) count.textContent = picked === 1 ? "1 selected" : `${picked} selected`;
  const head = document.querySelector("[data-check-all]");
  if (!head) return;
  head.checked = picked > 0 && picked === all.length;
  head.indeterminate = picked > 0 && picked < all.length;
};

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-check-all]")) {
    for (const box of boxes()) box.checked = event.target.checked;
  }
  if (event.target.matches("[data-check-all], .picks .check")) countPicked();
});
countPicked();

/* Live numbers: the same markup again, every five seconds while it is seen. */

const live = document.querySelector("[data-live]");

const refresh = async () => {
  if (document.hidden) return;
  try {
    const answer = await fetch(live.dataset.live, { credentials: "same-origin", redirect: "manual" });
    if (answer.type === "opaqueredirect") location.reload(); // the session has ended
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    live.replaceChildren(...page.body.childNodes);
  } catch {
    // The server is away for a moment; the next round tries again.
  }
};

if (live) {
  setInterval(refresh, 5000);
  document.addEventListener("visibilitychange", refresh);
}

/* Uploads: one raw PUT for each file, two at a time. XMLHttpRequest, since
   fetch tells nothing about the progress of a body. */

const panel = document.getElementById("uploads");
const parallel = 2;

const sizeText = (bytes) => {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1023.5 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit > 0 && value < 9.95 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
};

// Characters that cannot be seen or that turn the direction of text are drawn
// as escapes, as the server does it.
const inert = (name) =>
  name.replace(/[\p{Cc}\p{Cf}\u2028\u2029\u115f\u1160\u3164\uffa0]/gu, (c) => `U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`);

const uploads = { list: [], changed: false };

const setState = (item, state, text) => {
  item.state = state;
  item.row.dataset.state = state;
  item.row.querySelector(".upload-state").textContent = text;
  const button = item.row.querySelector("button");
  button.hidden = state === "done" || state === "cancelled";
};

const total = (state) => uploads.list.filter((item) => item.state === state).length;

const drawSum = () => {
  const sum = { sent: 0, all: 0 };
  for (const item of uploads.list) {
    if (item.state === "cancelled" || item.state === "exists") continue;
    sum.all += item.file.size + 1;
    sum.sent += item.state === "done" || item.state === "failed" ? item.file.size + 1 : item.sent;
  }
  const bar = panel.querySelector(".uploads-all");
  bar.max = sum.all || 1;
  bar.value = sum.all ? sum.sent : 1;
  const done = total("done");
  const text = [`${done} of ${uploads.list.length} done`];
  if (total("exists")) text.push(`${total("exists")} there already`);
  if (total("failed")) text.push(`${total("failed")} failed`);
  panel.querySelector("[data-uploads-sum]").textContent = text.join(", ");
};

const busy = () => total("waiting") + total("sending") > 0;

const finishAll = () => {
  const running = busy();
  panel.querySelector(".uploads-all").hidden = !running;
  panel.querySelector("[data-uploads-cancel]").hidden = !running;
  panel.querySelector("[data-uploads-done]").hidden = running;
  panel.querySelector("[data-uploads-replace]").hidden = running || total("exists") === 0;
  if (running) return;
  const failed = total("failed") + total("exists");
  announce(`Uploads finished: ${total("done")} stored, ${failed} not stored`);
  if (uploads.changed && failed === 0) location.reload();
};

const refusal = (status, text) => {
  const hint = text.trim();
  return hint && hint.length < 400 && !hint.startsWith("<") ? hint : `Not stored (answer ${status})`;
};

const settled = (item, status, text) => {
  if (status >= 200 && status < 300) {
    uploads.changed = true;
    setState(item, "done", `Stored, ${sizeText(item.file.size)}`);
  } else if (status === 412 && !item.replace) {
    setState(item, "exists", "There already, not replaced");
  } else {
    setState(item, "failed", refusal(status, text));
  }
};

const next = () => {
  drawSum();
  pump();
  finishAll();
};

// A large body is announced first: a server that refuses a body while it is
// being sent cannot make the browser show why.
const announceFrom = 512 * 1024;

const send = async (item) => {
  setState(item, "sending", "Begins");
  if (item.file.size > announceFrom) {
    item.request = new AbortController();
    const address = panel.dataset.may + encodeURIComponent(item.key) + (item.replace ? "" : "&new=1");
    try {
      const answer = await fetch(address, { signal: item.request.signal, redirect: "error" });
      if (!answer.ok) return answered(item, answer.status, await answer.text());
    } catch {
      if (item.request.signal.aborted) setState(item, "cancelled", "Cancelled. Nothing was stored");
      else setState(item, "failed", "Larder could not be reached. Nothing was stored");
      return next();
    }
  }
  return sendBody(item);
};

const answered = (item, status, text) => {
  settled(item, status, text);
  next();
};

const sendBody = (item) => {
  const request = new XMLHttpRequest();
  item.request = request;
  item.sent = 0;
  request.upload.onprogress = (event) => {
    item.sent = event.loaded;
    const bar = item.row.querySelector("progress");
    bar.max = event.total || 1;
    bar.value = event.loaded;
    const share = event.total ? Math.floor((100 * event.loaded) / event.total) : 0;
    setState(item, "sending", share < 100 ? `${sizeText(event.loaded)} of ${sizeText(event.total)}, ${share} %` : "Making it durable");
    drawSum();
  };
  request.onload = () => answered(item, request.status, request.responseText);
  request.onerror = () => { setState(item, "failed", "The connection broke. Nothing was stored"); next(); };
  request.onabort = () => { setState(item, "cancelled", "Cancelled. Nothing was stored"); next(); };
  request.open("PUT", panel.dataset.url + encodeURIComponent(item.key));
  request.setRequestHeader("Content-Type", item.file.type || "application/octet-stream");
  request.setRequestHeader("X-Larder-Form", panel.dataset.token);
  if (!item.replace) request.setRequestHeader("If-None-Match", "*");
  request.send(item.file);
};

const pump = () => {
  for (const item of uploads.list) {
    if (total("sending") >= parallel) return;
    if (item.state === "waiting") send(item);
  }
};

const cancel = (item) => {
  if (item.state === "sending") item.request.abort();
  else if (item.state !== "done") setState(item, "cancelled", "Cancelled. Nothing was stored");
};

const add = (file, name) => {
  const row = panel.querySelector("[data-upload-row]").content.firstElementChild.cloneNode(true);
  row.querySelector(".upload-name").textContent = inert(name);
  const item = { file, key: decodeURIComponent(panel.dataset.prefix) + name, row, sent: 0, state: "waiting", replace: false };
  row.querySelector("button").addEventListener("click", () => {
    cancel(item);
    drawSum();
    finishAll();
  });
  panel.querySelector(".uploads-list").append(row);
  uploads.list.push(item);
  if (file.size > Number(panel.dataset.max)) {
    setState(item, "failed", `Larger than ${sizeText(Number(panel.dataset.max))}: use an S3 client, which sends it in parts`);
  }
};

const start = (found) => {
  if (found.length === 0) return;
  panel.hidden = false;
  for (const { file, name } of found) add(file, name);
  drawSum();
  pump();
  finishAll();
};

const picked = (input) => {
  start([...input.files].map((file) => ({ file, name: file.webkitRelativePath || file.name })));
  input.value = "";
};

// A dropped folder is walked entry by entry; a folder gives its children in
// portions until none is left.
const walk = async (entry, path, found) => {
  if (entry.isFile) {
    const file = await new Promise((yes, no) => entry.file(yes, no));
    found.push({ file, name: path + entry.name });
    return;
  }
  const reader = entry.createReader();
  for (;;) {
    const portion = await new Promise((yes, no) => reader.readEntries(yes, no));
    if (portion.length === 0) return;
    for (const child of portion) await walk(child, `${path}${entry.name}/`, found);
  }
};

const dropped = async (event) => {
  const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
  const found = [];
  for (const entry of entries) {
    try {
      await walk(entry, "", found);
    } catch {
      announce(`${entry.name} could not be read`);
    }
  }
  start(found);
};

const dragging = (drop) => {
  const files = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  addEventListener("dragover", (event) => {
    if (!files(event)) return;
    event.preventDefault();
    drop.dataset.over = "";
  });
  addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) delete drop.dataset.over;
  });
  addEventListener("drop", (event) => {
    if (!files(event)) return;
    event.preventDefault();
    delete drop.dataset.over;
    dropped(event);
  });
};

const replaceAll = () => {
  for (const item of uploads.list) {
    if (item.state !== "exists") continue;
    item.replace = true;
    setState(item, "waiting", "Waiting");
  }
  drawSum();
  pump();
  finishAll();
};

if (panel) {
  for (const kind of ["files", "folder"]) {
    const input = document.getElementById(`pick-${kind}`);
    document.querySelector(`[data-pick="${kind}"]`)?.addEventListener("click", () => input.click());
    input.addEventListener("change", () => picked(input));
  }
  dragging(document.querySelector("[data-drop]"));
  panel.querySelector("[data-uploads-replace]").addEventListener("click", replaceAll);
  panel.querySelector("[data-uploads-cancel]").addEventListener("click", () => uploads.list.forEach(cancel));
  panel.querySelector("[data-uploads-done]").addEventListener("click", () => {
    if (uploads.changed) location.reload();
    else panel.hidden = true;
  });
  addEventListener("beforeunload", (event) => {
    if (busy()) event.preventDefault();
  });
}
